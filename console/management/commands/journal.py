"""`manage.py journal verify` and `journal export`."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import CommandError, CommandParser

from console.management.base import ConsoleCommand, actor, add_tenant
from lifecycle_core.application import journals
from lifecycle_core.application.resources import Verification


class Command(ConsoleCommand):
    help = "Check the hash chains of a tenant's journals, or write them out as lines of JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        verify = actions.add_parser("verify", help="exit 0 when intact, 1 with the first broken event else")
        verify.add_argument(
            "--export", metavar="FILE", help="check the lines of an export, without the database"
        )
        add_tenant(verify)
        export = actions.add_parser("export", help="write every fact as a line of JSON")
        export.add_argument("file", nargs="?", default="-", help="- is standard output (default)")
        add_tenant(export)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "export":
            self._export(options)
            return
        found = _verify_file(options["export"]) if options["export"] else journals.verify(actor(options))
        self.stdout.write(f"{found.events} events of {found.invocations} invocations")
        if found.broken is not None:
            where = f"event {found.broken['seq']} of {found.broken['invocation']}"
            position = found.broken["position"]
            raise CommandError(f"BROKEN: {where} (position {position}): {found.broken['why']}")
        self.stdout.write("intact")

    def _export(self, options: dict[str, Any]) -> None:
        with _writable(options["file"]) as out:
            out.writelines(journals.export(actor(options)))


def _verify_file(name: str) -> Verification:
    try:
        with Path(name).open(encoding="utf-8") as lines:
            return journals.verify_export(lines)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as cause:
        raise CommandError(f"{name} is no export of a journal: {cause}") from cause


def _writable(name: str) -> Any:
    if name == "-":
        standard: TextIO = sys.stdout
        return nullcontext(standard)
    try:
        return Path(name).open("w", encoding="utf-8")
    except OSError as cause:
        raise CommandError(f"{name} cannot be written: {cause}") from cause
