"""Django's SQLite backend, with every write and every checkpoint under the writer lock.

Rule 1: a connection takes the lock before the first statement that may write, and gives it back as soon as it is in no
transaction. So plain saves, sessions and other people's apps are covered, not only our own `atomic` blocks.
Rule 2: an automatic checkpoint is part of a commit, so it is covered too. A closing connection would checkpoint on its own:
it is told not to, and the keeper, a connection that is never closed, makes sure that none is ever the last.
Rule 3: rows that a lone writing statement returns are fetched at once, because it is committed only when they all are.

Reads outside a transaction take no lock. `atomic` means IMMEDIATE here: do not put pure reads into it.
"""

import re
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, Self

from django.db.backends.sqlite3 import base

from lifecycle_core.journal.sqlite import keeper, writer

READS: Final = re.compile(
    r"\s*(SELECT|EXPLAIN|VALUES|PRAGMA(?!\s+(wal_checkpoint|optimize|journal_mode\s*=|user_version\s*=))"
    r"|WITH(?!.*\b(INSERT|UPDATE|DELETE|REPLACE)\b))\b",
    re.IGNORECASE | re.DOTALL,
)
DEFAULT_TIMEOUT: Final = 5.0

# Written SQL binds identities as the ORM stores them.
sqlite3.register_adapter(uuid.UUID, lambda value: value.hex)


class Cursor(base.SQLiteCursorWrapper):
    """A cursor that takes the lock of its connection's wrapper around what may write."""

    wrapper: "DatabaseWrapper"
    _fetched: Iterator[Any] | None = None

    def execute(self, query: str, params: Any = None) -> Self:
        self._fetched = None
        with self.wrapper.writing(query) as alone:
            super().execute(query, params)
            if alone and self.description is not None and not self.wrapper.in_transaction:
                self._fetched = iter(super().fetchall())
        return self

    def executemany(self, query: str, param_list: Any) -> Self:
        self._fetched = None
        with self.wrapper.writing(query):
            super().executemany(query, param_list)
        return self

    def executescript(self, sql_script: str) -> Self:
        with self.wrapper.writing(sql_script):
            super().executescript(sql_script)
        return self

    def fetchone(self) -> Any:
        return super().fetchone() if self._fetched is None else next(self._fetched, None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        count = size or self.arraysize
        return super().fetchmany(count) if self._fetched is None else list(islice(self._fetched, count))

    def fetchall(self) -> list[Any]:
        return super().fetchall() if self._fetched is None else list(self._fetched)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return super().__next__() if self._fetched is None else next(self._fetched)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that writes only while it holds the writer lock."""

    _lock: writer.Writer | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> sqlite3.Connection:
        if not self.is_in_memory_db():
            keeper.keep(self._path, self._timeout)
        connection: sqlite3.Connection = super().get_new_connection(conn_params)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        return connection

    def create_cursor(self, name: str | None = None) -> Cursor:
        cursor: Cursor = self.connection.cursor(factory=Cursor)
        cursor.wrapper = self
        return cursor

    @property
    def in_transaction(self) -> bool:
        """Tell whether the connection is in a transaction now."""
        return bool(self.connection.in_transaction)

    @contextmanager
    def writing(self, query: str) -> Iterator[bool]:
        """Hold the lock around a statement; it stays held when the statement leaves a transaction open.

        Gives true when the statement took the lock itself.
        """
        taken = self._lock is None and not READS.match(query) and self._take()
        try:
            yield taken
        finally:
            self._give_when_idle()

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        finally:
            self._give_when_idle()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._give_when_idle()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._give()

    def __del__(self) -> None:
        self._give()

    def _take(self) -> bool:
        if self.is_in_memory_db():
            return False
        lock = writer.of(self._path)
        try:
            lock.acquire(self._timeout)
        except writer.Timeout as cause:
            raise sqlite3.OperationalError("database is locked") from cause
        self._lock = lock
        return True

    def _give_when_idle(self) -> None:
        if self._lock is not None and not self.in_transaction:
            self._give()

    def _give(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    @property
    def _path(self) -> str:
        return str(self.settings_dict["NAME"])

    @property
    def _timeout(self) -> float:
        return float(self.settings_dict["OPTIONS"].get("timeout", DEFAULT_TIMEOUT))
