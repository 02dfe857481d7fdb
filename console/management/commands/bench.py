"""`manage.py bench [NAME…] [--json] [--database URL]`: what a tool call and a transition cost on this machine."""

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from console import serving
from console.management.base import ConsoleCommand
from lifecycle_core.application.bench import runs
from lifecycle_core.application.bench.figures import Options

type Figures = Iterable[Mapping[str, Any]]

DEFAULT = Options()
SHOWN = ("name", "value", "unit", "database")


class Command(ConsoleCommand):
    help = "Measure on databases made for it, SQLite and PostgreSQL; the console's own data is never touched."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "names", nargs="*", metavar="NAME", help=f"{', '.join(runs.BENCHES)} (default: all)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per line and figure")
        parser.add_argument(
            "--database", metavar="URL", help="measure in a schema of this PostgreSQL database, or sqlite"
        )
        parser.add_argument(
            "--calls", type=counts, default=DEFAULT.calls, help="tool calls in one run (default: 20,100)"
        )
        parser.add_argument(
            "--rounds", type=int, default=DEFAULT.rounds, help="runs of each kind (default: %(default)s)"
        )
        parser.add_argument(
            "--seconds", type=float, default=DEFAULT.seconds, help="of each load (default: %(default)s)"
        )
        parser.add_argument(
            "--callers", type=counts, default=DEFAULT.callers, help="of each load (default: 1,8)"
        )
        parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        runs.check(options["names"])
        figures = (
            self._here(options) if options["here"] else runs.elsewhere(child(options), options["database"])
        )
        if options["json"]:
            for figure in figures:
                self.stdout.write(json.dumps(figure))
                self.stdout.flush()
        else:
            self.stdout.write("\n".join(table(figures)))

    def _here(self, options: Mapping[str, Any]) -> Figures:
        with serving.alone():
            yield from runs.here(
                options["names"], Options(**{name: options[name] for name in asdict(DEFAULT)})
            )


def counts(text: str) -> tuple[int, ...]:
    """Read numbers, separated by commas."""
    numbers = tuple(int(part) for part in text.split(","))
    if min(numbers) < 1:
        raise ValueError(text)
    return numbers


def child(options: Mapping[str, Any]) -> list[str]:
    """Return the same command for a process that measures on the database of its settings."""
    command = [str(settings.BASE_DIR / "manage.py"), "bench", *options["names"], "--json", "--here"]
    for name in asdict(DEFAULT):
        value = options[name]
        command += [f"--{name}", ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return command


def table(figures: Figures) -> list[str]:
    """Return figures as aligned lines; what distinguishes those of one name stands last."""
    rows = [("figure", "value", "unit", "database", "conditions")]
    for figure in figures:
        conditions = ", ".join(f"{name} {value}" for name, value in figure.items() if name not in SHOWN)
        rows.append(
            (figure["name"], f"{figure['value']:.3f}", figure["unit"], figure["database"], conditions)
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        f"{name:<{widths[0]}}  {value:>{widths[1]}}  {unit:<{widths[2]}}  {database:<{widths[3]}}  {conditions}"
        for name, value, unit, database, conditions in rows
    ]
