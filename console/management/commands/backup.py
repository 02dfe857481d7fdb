"""`manage.py backup FILE`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from console.management.base import ConsoleCommand
from lifecycle_core.application import backups


class Command(ConsoleCommand):
    help = "Write database, blobs and keys to one file, while the server runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        backups.write(options["file"])
        self.stdout.write(f"Written: {options['file']}")
