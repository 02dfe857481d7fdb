"""`manage.py token create|revoke|list`."""

from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from console.errors import instant
from console.management import base
from lifecycle_core.application import tokens


class Command(base.ConsoleCommand):
    """Create, revoke and list the tokens of a tenant."""

    help = "Create, revoke and list the tokens by which programs sign in."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what to do."""
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="print a new token, alone on the last line")
        create.add_argument("--role", action="append", required=True, dest="roles", help="may be repeated")
        create.add_argument(
            "--name", required=True, help="who uses it; what it does is recorded as token:NAME"
        )
        create.add_argument("--expires", type=int, metavar="DAYS", help="(default: never)")
        revoke = actions.add_parser("revoke", help="end a token at once")
        revoke.add_argument("id", type=UUID)
        listing = actions.add_parser("list", help="list the tokens, which never shows them")
        for action in (create, revoke, listing):
            base.add_tenant(action)

    def handle(self, *, action: str, **options: Any) -> None:
        """Do it."""
        actor = base.actor(options)
        if action == "create":
            text, item = tokens.create(
                actor, name=options["name"], roles=options["roles"], days=options["expires"]
            )
            self.stderr.write(f"Token {item.id} of {item.name} in {actor.tenant}. It is shown only now:")
            self.stdout.write(text)
        elif action == "revoke":
            item = tokens.revoke(actor, options["id"])
            self.stdout.write(f"Revoked token {item.id} of {item.name}.")
        else:
            for item in tokens.listed(actor):
                self.stdout.write(line(item))


def line(item: tokens.TokenItem) -> str:
    """Describe a token in one line."""
    end = "revoked" if item.revoked_at else f"until {instant(item.expires_at)}" if item.expires_at else "live"
    used = instant(item.last_used_at) if item.last_used_at else "never"
    return f"{item.id}  {item.name}  {', '.join(item.roles)}  {end}  last used {used}"
