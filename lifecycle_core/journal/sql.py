"""Written SQL for the statements that every transition runs: made once, with nothing between it and the driver.

Run these inside `transaction.atomic` (writes), or alone (reads); the rest of the journal uses the ORM.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from lifecycle_core.contract import errors


class Statement:
    """One statement in both dialects."""

    __slots__ = ("postgresql", "sqlite")

    def __init__(self, text: str) -> None:
        self.postgresql: Final = text.encode()
        locks_nothing = text.replace(" FOR NO KEY UPDATE", "").replace(" FOR UPDATE", "")
        self.sqlite: Final = locks_nothing.replace("%s", "?").replace(" = TRUE", " = 1")


class Result(Protocol):
    """What a driver's cursor gives back."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


type Run = Callable[[Statement, Sequence[Any]], Result]


def runner(connection: BaseDatabaseWrapper) -> Run:
    """Return how to run statements on a connection, which is opened if need be."""
    connection.ensure_connection()
    native = connection.connection
    if connection.vendor == "sqlite":
        return lambda statement, parameters: native.execute(statement.sqlite, parameters)
    # Imported here, since half a second of a start on SQLite would else go into a driver that it never uses.
    from psycopg import Cursor

    return lambda statement, parameters: Cursor(native).execute(
        statement.postgresql, parameters, prepare=True
    )


def as_uuid(value: Any) -> UUID:
    """Read an identity as either driver gives it."""
    return value if isinstance(value, UUID) else UUID(value)


def plain(text: str) -> str:
    """Return a text that every database can hold. Raises `errors.NotCanonical` for U+0000."""
    if "\x00" in text:
        raise errors.NotCanonical(detail="a name contains U+0000")
    return text
