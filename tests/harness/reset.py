"""Put a test database back to how the migrations left it.

Django's flush cannot: triggers refuse to delete events. Here the triggers are off for the one connection that
clears, and only while it does; other threads and processes keep their connections. Only tables that a test
touched cost anything.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

type Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The rows that the migrations made, by table."""

    rows: Mapping[str, list[Row]]

    @classmethod
    def of(cls, connection: BaseDatabaseWrapper) -> "Baseline":
        """Read every table once, right after the test database was made."""
        return cls(rows={table: read(connection, table) for table in tables(connection)})

    def restore(self, connection: BaseDatabaseWrapper) -> None:
        """Undo whatever tests have committed since."""
        if not (changed := self.changed(connection)):
            return
        with (
            connection.constraint_checks_disabled(),
            walls_down(connection),
            transaction.atomic(using=connection.alias),
        ):
            for table in changed:
                rewrite(connection, table, self.rows[table])

    def changed(self, connection: BaseDatabaseWrapper) -> list[str]:
        """Name the tables whose rows differ; empty ones are told apart in a single query."""
        filled = non_empty(connection, self.rows)
        return [
            table
            for table, rows in self.rows.items()
            if (table in filled or rows) and read(connection, table) != rows
        ]


def tables(connection: BaseDatabaseWrapper) -> list[str]:
    """Name every table but the list of applied migrations."""
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
    return sorted(set(names) - {"django_migrations"})


def read(connection: BaseDatabaseWrapper, table: str) -> list[Row]:
    """Read a whole table."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
        return list(cursor.fetchall())


def non_empty(connection: BaseDatabaseWrapper, names: Mapping[str, list[Row]]) -> set[str]:
    """Find the tables that have at least one row."""
    quote = connection.ops.quote_name
    query = " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {quote(name)})" for name in names
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        return {name for (name,) in cursor.fetchall()}


def rewrite(connection: BaseDatabaseWrapper, table: str, rows: list[Row]) -> None:
    """Replace the rows of one table."""
    name = connection.ops.quote_name(table)
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {name}")
        if rows:
            marks = ", ".join(["%s"] * len(rows[0]))
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


@contextmanager
def walls_down(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Switch the triggers off for this connection, and only for it."""
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        native = connection.connection
        native.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
        try:
            yield
        finally:
            native.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, True)
        return
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")
