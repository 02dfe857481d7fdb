"""The triggers behind the code: what the database itself refuses, whoever asks.

They are made by a migration and made again after every later one: SQLite loses a table's triggers when a field is altered.
"""

from typing import Any, Final

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from lifecycle_core.contract.status import TERMINAL

ENDS: Final = ", ".join(f"'{status}'" for status in sorted(TERMINAL))
ENDED_AND_MOVED: Final = f"OLD.status IN ({ENDS}) AND NEW.status <> OLD.status"
OPEN: Final = """
    EXISTS (SELECT 1 FROM journal_approval WHERE invocation_id = NEW.id AND state = 'pending')
    OR EXISTS (SELECT 1 FROM journal_inputrequest WHERE invocation_id = NEW.id AND state = 'pending')"""
ENDING_WITH_OPEN: Final = f"NEW.status IN ({ENDS}) AND NEW.status <> OLD.status AND ({OPEN})"
NOT_RETIRED: Final = """NOT EXISTS (
    SELECT 1 FROM journal_invocation AS i
    JOIN journal_delivery AS d ON d.id = i.delivery_id
    JOIN journal_tombstone AS t ON t.tenant = d.tenant AND t.delivery = d.identity
    WHERE i.id = OLD.invocation_id)"""

# name: (table, when, condition, sentence)
WALLS: Final = {
    "journal_end_is_final": (
        "journal_invocation",
        "UPDATE",
        ENDED_AND_MOVED,
        "an ended invocation stays ended",
    ),
    "journal_end_closes_requests": (
        "journal_invocation",
        "UPDATE",
        ENDING_WITH_OPEN,
        "an invocation with open requests cannot end",
    ),
    "journal_event_is_final": ("journal_event", "UPDATE", "TRUE", "an event is never changed"),
    "journal_event_stays": (
        "journal_event",
        "DELETE",
        NOT_RETIRED,
        "an event goes only with its retired delivery",
    ),
    "journal_tombstone_is_final": ("journal_tombstone", "UPDATE", "TRUE", "a tombstone is never changed"),
    "journal_tombstone_stays": ("journal_tombstone", "DELETE", "TRUE", "a tombstone is never deleted"),
}


def install(connection: BaseDatabaseWrapper) -> None:
    """Make every trigger anew."""
    make = {"sqlite": _sqlite, "postgresql": _postgresql}[connection.vendor]
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for name, wall in WALLS.items():
            for statement in make(name, *wall):
                cursor.execute(statement)


def remove(connection: BaseDatabaseWrapper) -> None:
    """Take every trigger away, for the migration that made them to be undone."""
    with connection.cursor() as cursor:
        for name, (table, *_) in WALLS.items():
            cursor.execute(_drop(connection.vendor, name, table))


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Name the triggers that are not there."""
    query = {
        "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(query)
        present = {name for (name,) in cursor.fetchall()}
    return sorted(set(WALLS) - present)


def reinstall(using: str, plan: list[tuple[Any, bool]] | None = None, **_: Any) -> None:
    """Repair the walls after migrations (receives `post_migrate`)."""
    connection = connections[using]
    if {table for table, *_ in WALLS.values()} <= set(connection.introspection.table_names()):
        install(connection)


def _drop(vendor: str, name: str, table: str) -> str:
    return f"DROP TRIGGER IF EXISTS {name}" + (f" ON {table}" if vendor == "postgresql" else "")


def _sqlite(name: str, table: str, event: str, condition: str, sentence: str) -> list[str]:
    refusal = f"BEGIN SELECT RAISE(ABORT, '{sentence}'); END"
    return [
        _drop("sqlite", name, table),
        f"CREATE TRIGGER {name} BEFORE {event} ON {table} WHEN {condition} {refusal}",
    ]


def _postgresql(name: str, table: str, event: str, condition: str, sentence: str) -> list[str]:
    row = "OLD" if event == "DELETE" else "NEW"
    refusal = f"RAISE EXCEPTION '{sentence}' USING ERRCODE = 'restrict_violation'"
    body = f"BEGIN IF {condition} THEN {refusal}; END IF; RETURN {row}; END"
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
        _drop("postgresql", name, table),
        f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()",
    ]
