"""Checkpoint the write-ahead log, under the writer lock like everything that writes."""

from typing import Final

from django.db.backends.base.base import BaseDatabaseWrapper

PATIENCE_MS: Final = 100


def truncate(connection: BaseDatabaseWrapper) -> bool:
    """Copy the log into the database file and empty it, so that deleted text is nowhere; false while somebody still reads."""
    if connection.vendor != "sqlite":
        return True
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        patience = cursor.fetchone()[0]
        # Whoever waits here keeps all writers waiting.
        cursor.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return bool(cursor.fetchone()[0] == 0)
        finally:
            cursor.execute(f"PRAGMA busy_timeout={patience}")
