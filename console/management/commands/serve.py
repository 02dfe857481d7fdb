"""`manage.py serve`: the embedded server, web and turns in one process."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from console import serving
from console.management.base import ConsoleCommand
from lifecycle_core.application import members, permissions

TENANT = "default"
OWNER = "owner"


class Command(ConsoleCommand):
    help = "Serve the console: pages, API, sockets and turns, in this one process."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)"
        )
        parser.add_argument(
            "--port", type=int, default=8000, help="0 takes a free one (default: %(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with serving.alone():
            self._first_owner()
            code = serving.serve(options["host"], options["port"], on_ready=self._ready)
        sys.exit(code)

    def _ready(self, address: str) -> None:
        self.stdout.write(f"READY {address}")
        self.stdout.flush()

    def _first_owner(self) -> None:
        """Make the owner where nobody can sign in yet, and say how."""
        password = members.first_owner(permissions.command_line(TENANT), username=OWNER)
        if password is not None:
            self.stdout.write(
                f"Sign in as {OWNER} with the password {password} (shown this once; change it when signed in)."
            )
            self.stdout.flush()
