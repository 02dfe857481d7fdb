"""What our commands share: a tenant to act in, and refusals that read as sentences."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from lifecycle_core.application import permissions
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.errors import Refused


class ConsoleCommand(BaseCommand):
    """Run a use case as whoever may run commands here; a refusal ends with exit code 1."""

    def execute(self, *arguments: Any, **options: Any) -> str | None:
        """Run, and say a refusal as a sentence."""
        try:
            return super().execute(*arguments, **options)
        except Refused as refused:
            raise CommandError(f"{refused.sentence} ({refused.code})") from refused


def add_tenant(parser: CommandParser) -> None:
    """Take `--tenant T`."""
    parser.add_argument("--tenant", default="default", help="the tenant to act in (default: %(default)s)")


def actor(options: dict[str, Any]) -> Actor:
    """Return who runs the command, in the tenant of the options."""
    return permissions.command_line(options["tenant"])
