"""`manage.py tenant add|list`."""

from typing import Any

from django.core.management.base import CommandParser

from console.management.base import ConsoleCommand
from lifecycle_core.application import tenants


class Command(ConsoleCommand):
    """Add and list tenants."""

    help = "Add and list tenants."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what to do."""
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="add a tenant")
        add.add_argument("slug", help="its short name: small letters, digits and . - _ between")
        add.add_argument("--name", default="", help="its name for people")
        actions.add_parser("list", help="list the tenants")

    def handle(self, *, action: str, **options: Any) -> None:
        """Do it."""
        if action == "list":
            self.stdout.write("\n".join(tenants.slugs()))
            return
        tenants.add(options["slug"], name=options["name"])
        self.stdout.write(f"Added tenant {options['slug']}.")
