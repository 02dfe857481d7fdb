"""Key files are made once and are nobody else's to read."""

import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from lifecycle_core.access import keyfiles


def test_a_missing_key_is_made_and_stays(tmp_path: Path) -> None:
    first = keyfiles.load(tmp_path / "keys", "a.key")
    assert len(first) > 60
    assert keyfiles.load(tmp_path / "keys", "a.key") == first


def test_only_the_owner_can_read_a_key(tmp_path: Path) -> None:
    keyfiles.load(tmp_path / "keys", "a.key")
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "keys" / "a.key").stat().st_mode) == 0o600


def test_whoever_comes_first_makes_the_key_of_all(tmp_path: Path) -> None:
    numbers = count()
    with ThreadPoolExecutor(16) as pool:
        tasks = [
            pool.submit(keyfiles.load, tmp_path, "a.key", lambda: f"key {next(numbers)}") for _ in range(64)
        ]
        found = {task.result() for task in tasks}
    assert len(found) == 1


def test_nothing_but_the_key_is_left_behind(tmp_path: Path) -> None:
    keyfiles.load(tmp_path, "a.key")
    keyfiles.replace(tmp_path, "a.key", "another")
    assert [path.name for path in tmp_path.iterdir()] == ["a.key"]
    assert keyfiles.load(tmp_path, "a.key") == "another"


def prepend_without_waiting(folder: Path, name: str, line: str, between: Callable[[], object]) -> None:
    """Put a line before the others as if nobody else did."""
    found = keyfiles.found(folder, name)
    between()
    keyfiles.replace(folder, name, f"{line}\n{found}")


def test_no_line_gets_lost_however_many_are_put_in_front_at_once(tmp_path: Path) -> None:
    keyfiles.replace(tmp_path, "a.key", "first")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: keyfiles.prepend(tmp_path, "a.key", f"key-{number}"), range(64)))
    lines = keyfiles.found(tmp_path, "a.key").split()
    assert lines[-1] == "first"
    assert sorted(lines) == sorted(["first", *(f"key-{number}" for number in range(64))])


def test_control_without_a_lock_a_line_gets_lost(tmp_path: Path) -> None:
    keyfiles.replace(tmp_path, "a.key", "first")
    together = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        for line in ("one", "two"):
            pool.submit(prepend_without_waiting, tmp_path, "a.key", line, together.wait)
    assert len(keyfiles.found(tmp_path, "a.key").split()) == 2


def test_a_file_that_is_not_there_holds_nothing_and_is_not_made(tmp_path: Path) -> None:
    assert keyfiles.found(tmp_path, "a.key") == ""
    assert list(tmp_path.iterdir()) == []
