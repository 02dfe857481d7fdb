"""`manage.py restore FILE`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from console.management.base import ConsoleCommand
from lifecycle_core.application import backups


class Command(ConsoleCommand):
    help = "Replace database, blobs and keys by those of a backup; the server must be stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        backups.restore(options["file"])
        self.stdout.write(f"Restored: {options['file']}")
