"""One connection for each database file that this process has opened, never used and never closed.

While it is open, no other connection is the last one; so none recovers or resets the write-ahead log outside the writer lock.
"""

import os
import sqlite3
import threading
from typing import Final

from lifecycle_core.journal.sqlite import writer

_keepers: Final[dict[str, tuple[int, sqlite3.Connection]]] = {}
_mutex = threading.Lock()


def keep(database: str, timeout: float) -> None:
    """Make sure that the keeper of a file exists. Raises `sqlite3.OperationalError` when the writer lock is not to be had."""
    path = os.path.realpath(database)
    with _mutex:
        kept = _keepers.get(path)
        if kept is None or kept[0] != _inode(path):
            connection = _opened(path, timeout)
            _keepers[path] = (_inode(path), connection)


def _opened(path: str, timeout: float) -> sqlite3.Connection:
    """Open a file that is created, switched to WAL and recovered here if need be: all that writes."""
    lock = writer.of(path)
    try:
        lock.acquire(timeout)
    except writer.Timeout as cause:
        raise sqlite3.OperationalError("database is locked") from cause
    try:
        connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return connection
    finally:
        lock.release()


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except FileNotFoundError:
        return 0


def _start_over() -> None:
    """Forget the parent's connections in its forked child, which must not use them."""
    global _mutex
    _mutex = threading.Lock()
    _orphans.extend(_keepers.values())
    _keepers.clear()


# Held for ever: closing a parent's connection in the child would drop the parent's locks on the file.
_orphans: Final[list[tuple[int, sqlite3.Connection]]] = []

os.register_at_fork(after_in_child=_start_over)
