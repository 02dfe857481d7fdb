"""The writer lock: first come, first served inside a process; alternating between processes.

SQLite's own waiting is neither: it retries after sleeps, so one writer can starve for seconds. And before 3.51.3 a checkpoint
that overlaps another connection's commit can corrupt a database in WAL mode. So whoever writes, commits or checkpoints holds
this lock.

Between processes a plain file lock starves one side, because who gives it back takes it again before the other has woken. Hence
two files: the gate is held while waiting for the lock, so that who gives the lock back queues behind who already waits.
"""

import fcntl
import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final

FIRST_PAUSE: Final = 0.0001
LONGEST_PAUSE: Final = 0.002


class Timeout(Exception):
    """The lock was not to be had in time."""


class Queue:
    """Hand one turn from thread to thread, in the order of arrival."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False

    def enter(self, timeout: float) -> None:
        """Wait for the turn, or raise `Timeout`."""
        with self._mutex:
            if not self._taken:
                self._taken = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        if not turn.acquire(timeout=timeout):
            self._give_up(turn)

    def leave(self) -> None:
        """Hand the turn to whoever waits longest."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    def _give_up(self, turn: threading.Lock) -> None:
        with self._mutex:
            if turn in self._waiting:
                self._waiting.remove(turn)
                raise Timeout
        # The turn was handed over in the last moment: it is ours.


class FileLock:
    """Keep other processes out; the operating system gives it back when the process dies."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, deadline: float) -> None:
        """Wait for the lock until a monotonic time, or raise `Timeout`."""
        pause = FIRST_PAUSE
        while not self._taken():
            if time.monotonic() >= deadline:
                raise Timeout
            time.sleep(pause)
            pause = min(pause * 1.1, LONGEST_PAUSE)

    def give(self) -> None:
        """Let another process take the lock."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close this process's share of the file, without giving back what another process holds."""
        os.close(self._descriptor)

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class Writer:
    """The right to write to one database file."""

    def __init__(self, database: Path) -> None:
        self._queue = Queue()
        self._gate = FileLock(database.with_name(database.name + "-gate"))
        self._lock = FileLock(database.with_name(database.name + "-writer"))

    def acquire(self, timeout: float) -> None:
        """Become the only writer, or raise `Timeout` after so many seconds."""
        deadline = time.monotonic() + timeout
        self._queue.enter(timeout)
        try:
            self._gate.take(deadline)
            try:
                self._lock.take(deadline)
            finally:
                self._gate.give()
        except BaseException:
            self._queue.leave()
            raise

    def release(self) -> None:
        """Let the next one write."""
        self._lock.give()
        self._queue.leave()

    def close(self) -> None:
        """Close the files, in a forked child that must open its own."""
        self._gate.close()
        self._lock.close()


_writers: dict[str, Writer] = {}
_by_name: dict[str, Writer] = {}
_mutex = threading.Lock()


def of(database: str) -> Writer:
    """Return this process's writer lock of a database file."""
    known = _by_name.get(database)
    return known or _found(database)


def _found(database: str) -> Writer:
    path = os.path.realpath(database)
    with _mutex:
        if path not in _writers:
            _writers[path] = Writer(Path(path))
        _by_name[database] = _writers[path]
        return _writers[path]


def _start_over() -> None:
    """Give up a parent's open files in its forked child, which would share its locks."""
    global _mutex
    _mutex = threading.Lock()
    for writer in _writers.values():
        writer.close()
    _writers.clear()
    _by_name.clear()


os.register_at_fork(after_in_child=_start_over)
