"""`manage.py credential set|remove|list|rotate`."""

import getpass
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from console.management import base
from lifecycle_core.application import credentials
from lifecycle_core.contract.actor import Actor


class Command(base.ConsoleCommand):
    """Keep the secrets that agents' providers need."""

    help = "Keep the secrets that agents' providers need, encrypted and bound to origins."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what to do."""
        actions = parser.add_subparsers(dest="action", required=True)
        put = actions.add_parser("set", help="keep a secret, read from standard input")
        put.add_argument("ref", help="its name, such as refs/model")
        put.add_argument(
            "--origin",
            nargs="+",
            action="extend",
            required=True,
            help="where it may be sent; of a URL only scheme, host and port count",
        )
        remove = actions.add_parser("remove", help="forget a secret")
        remove.add_argument("ref")
        listing = actions.add_parser("list", help="list the names and origins")
        rotate = actions.add_parser("rotate", help="encrypt everything with a new key, while the server runs")
        for action in (put, remove, listing, rotate):
            base.add_tenant(action)

    def handle(self, *, action: str, **options: Any) -> None:
        """Do it."""
        actor = base.actor(options)
        if action == "set":
            item = credentials.set(actor, ref=options["ref"], secret=read_secret(), bound=options["origin"])
            self.stdout.write(f"Kept {item.ref} for {', '.join(item.origins)}.")
        elif action == "remove":
            credentials.remove(actor, options["ref"])
            self.stdout.write(f"Forgot {options['ref']}.")
        elif action == "rotate":
            self.rotate(actor)
        else:
            for item in credentials.listed(actor):
                self.stdout.write(f"{item.ref}: {', '.join(item.origins)}")

    def rotate(self, actor: Actor) -> None:
        """Encrypt everything anew and name what no key opens."""
        rotated = credentials.rotate(actor)
        secrets = "secret" if rotated.sealed == 1 else "secrets"
        self.stdout.write(f"Encrypted {rotated.sealed} {secrets} with the newest key.")
        if rotated.unreadable:
            raise CommandError(f"No key opens {', '.join(rotated.unreadable)}: set them again.")


def read_secret() -> str:
    """Ask a person without showing it, or take what is piped in, without the line end."""
    if sys.stdin.isatty():
        return getpass.getpass("Secret: ")
    return sys.stdin.read().rstrip("\r\n")
