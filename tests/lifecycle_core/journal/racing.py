"""Let threads and processes meet at one point, and collect what each of them got."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from django.db import connection, connections

from lifecycle_core.journal.sqlite import writer

SECONDS = 30
ROOT = Path(__file__).resolve().parents[3]


def together[T](*functions: Callable[[], T]) -> list[T | Exception]:
    """Run functions at once, each in a thread with a connection of its own; returns results or exceptions, in order."""
    barrier = threading.Barrier(len(functions))
    results: list[T | Exception] = [RuntimeError("did not end")] * len(functions)

    def run(place: int, function: Callable[[], T]) -> None:
        try:
            barrier.wait(SECONDS)
            results[place] = function()
        except Exception as refusal:  # noqa: BLE001  (whatever it is, the test judges it)
            results[place] = refusal
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(i, function)) for i, function in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    return results


def won(results: Sequence[object]) -> list[object]:
    """Return what was no exception."""
    return [result for result in results if not isinstance(result, Exception)]


def until_somebody_waits() -> None:
    """Go on as soon as another thread waits for a lock of the database that this one holds."""
    for _ in range(SECONDS * 1000):
        if _somebody_waits():
            return
        threading.Event().wait(0.001)
    raise AssertionError("nobody came to wait")


def _somebody_waits() -> bool:
    if connection.vendor == "sqlite":
        return bool(writer.of(str(connection.settings_dict["NAME"]))._queue._waiting)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None


class Child:
    """Another process that runs some Python after Django is ready; it says `ready` and waits for a line to go."""

    def __init__(self, code: str, environment: Mapping[str, str], *arguments: str) -> None:
        setup = "import sys, django; django.setup(); print('ready', flush=True); sys.stdin.readline()\n"
        self._process = subprocess.Popen(
            [sys.executable, "-c", setup + code, *arguments],
            cwd=ROOT,
            env={**environment, "DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def go(self) -> None:
        """Let it begin."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def said(self) -> list[str]:
        """Wait for its end and return the lines it printed."""
        output, _ = self._process.communicate(timeout=SECONDS)
        assert self._process.returncode == 0, output
        return output.splitlines()
