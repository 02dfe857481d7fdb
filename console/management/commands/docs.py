"""`manage.py docs`: write what is generated from the code; `--check` only tells whether it is up to date."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from lifecycle_core.application import documents


class Command(BaseCommand):
    help = "Generate docs/statuses.md from the engine's table."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="write nothing; fail when something is out of date"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for name, text in documents.generated().items():
            path: Path = settings.BASE_DIR / "docs" / name
            if options["check"] and (not path.exists() or path.read_text() != text):
                raise CommandError(f"docs/{name} is out of date; run manage.py docs.")
            if not options["check"]:
                path.write_text(text)
                self.stdout.write(f"docs/{name}")
