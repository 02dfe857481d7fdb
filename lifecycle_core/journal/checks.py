"""Check, on the live connection, what durability and the walls rest on.

They are warnings for what `migrate` repairs and errors for what settings must change. `check --database default` and `migrate`
run them.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.core import checks
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from lifecycle_core.journal import walls

FULL: Final = 2
WITHOUT_RACE: Final = (3, 51, 3)


def register() -> None:
    """Let Django run the checks of this module."""
    checks.register(check, checks.Tags.database)


def check(databases: Sequence[str] | None = None, **_: Any) -> list[checks.CheckMessage]:
    """Check every database that is asked for."""
    found: list[checks.CheckMessage] = []
    for alias in databases or ():
        connection = connections[alias]
        found += _sqlite(connection) if connection.vendor == "sqlite" else _postgresql(connection)
        found += _walls(connection)
    return found


def _sqlite(connection: BaseDatabaseWrapper) -> list[checks.CheckMessage]:
    found: list[checks.CheckMessage] = []
    if connection.settings_dict["ENGINE"] != "lifecycle_core.journal.sqlite":
        found.append(
            checks.Error("SQLite needs the backend lifecycle_core.journal.sqlite.", id="journal.E001")
        )
    if _pragma(connection, "synchronous") < FULL:
        found.append(
            checks.Error(
                "SQLite must run with synchronous FULL, or a power cut loses decisions.", id="journal.E002"
            )
        )
    if _pragma(connection, "journal_mode") != "wal":
        found.append(checks.Error("SQLite must run in WAL mode.", id="journal.E003"))
    if connection.Database.sqlite_version_info < WITHOUT_RACE:  # type: ignore[attr-defined]
        found.append(
            checks.Warning(
                "This SQLite has the WAL-reset race; the writer lock keeps clear of it.",
                hint="Use SQLite 3.51.3 or later, and write to the file only through this project's commands.",
                id="journal.W001",
            )
        )
    return found


def _postgresql(connection: BaseDatabaseWrapper) -> list[checks.CheckMessage]:
    if _show(connection, "synchronous_commit") in ("off", "local"):
        return [checks.Error("PostgreSQL must run with synchronous_commit on.", id="journal.E004")]
    return []


def _walls(connection: BaseDatabaseWrapper) -> list[checks.CheckMessage]:
    if "journal_event" not in connection.introspection.table_names():
        return []
    if missing := walls.missing(connection):
        return [
            checks.Warning(
                f"Triggers are missing: {', '.join(missing)}.", hint="Run migrate.", id="journal.W002"
            )
        ]
    return []


def _pragma(connection: BaseDatabaseWrapper, name: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return cursor.fetchone()[0]


def _show(connection: BaseDatabaseWrapper, name: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return cursor.fetchone()[0]
