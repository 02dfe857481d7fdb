"""`manage.py member add|remove|list`."""

import getpass
import sys
from typing import Any

from django.core.management.base import CommandParser

from console.management import base
from lifecycle_core.application import members


class Command(base.ConsoleCommand):
    """Add, remove and list the people of a tenant."""

    help = "Add, remove and list the people of a tenant."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what to do."""
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser(
            "add", help="give a person roles; a new person's password is read from standard input"
        )
        add.add_argument("username")
        add.add_argument("--role", action="append", required=True, dest="roles", help="may be repeated")
        remove = actions.add_parser("remove", help="take a person's roles away")
        remove.add_argument("username")
        listing = actions.add_parser("list", help="list the members")
        for action in (add, remove, listing):
            base.add_tenant(action)

    def handle(self, *, action: str, **options: Any) -> None:
        """Do it."""
        actor = base.actor(options)
        if action == "add":
            name = options["username"]
            password = None if members.exists(name) else read_password()
            added = members.add(actor, username=name, given=options["roles"], password=password)
            self.stdout.write(f"{added.username} is {', '.join(added.roles)} in {actor.tenant}.")
        elif action == "remove":
            members.remove(actor, username=options["username"])
            self.stdout.write(f"{options['username']} is no member of {actor.tenant} any more.")
        else:
            for member in members.listed(actor):
                closed = "" if member.active else " (closed)"
                self.stdout.write(f"{member.username}: {', '.join(member.roles)}{closed}")


def read_password() -> str:
    """Ask a person, or take the first line of what is piped in."""
    if sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return sys.stdin.readline().rstrip("\r\n")
