"""`manage.py agents apply FILE` and `agents list`."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from console.management.base import ConsoleCommand, actor, add_tenant
from lifecycle_core.application import agents, queries
from lifecycle_core.contract.errors import SchemaInvalid


class Command(ConsoleCommand):
    help = "Register agents from a TOML file, or list those that are registered."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        apply = actions.add_parser("apply", help="register the agents of a file; - reads standard input")
        apply.add_argument("file")
        add_tenant(apply)
        add_tenant(actions.add_parser("list", help="list the agents in their current versions"))

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "apply":
            self._apply(options)
            return
        for agent in queries.agents(actor(options)):
            self.stdout.write(f"{agent.name}\t{agent.provider}\t{agent.model}\t{agent.binding}")

    def _apply(self, options: dict[str, Any]) -> None:
        try:
            applied = agents.apply(actor(options), _read(options["file"]))
        except SchemaInvalid as refusal:
            lines = [f"  {problem.pointer or '/'}: {problem.detail}" for problem in refusal.problems]
            raise CommandError("\n".join([f"{refusal.sentence} ({refusal.code})", *lines])) from refusal
        for agent in applied:
            self.stdout.write(f"{agent.name}\t{agent.binding}")


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise CommandError(f"{name} cannot be read: {cause}") from cause
