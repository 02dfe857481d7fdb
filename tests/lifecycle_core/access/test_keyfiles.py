"""Key files are made once and are nobody else's to read."""

import stat
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
