"""A backup taken while everybody writes is whole, and a restore happens altogether or not at all."""

import sqlite3
import stat
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, connections

from lifecycle_core.contract import errors
from lifecycle_core.journal import backup, feed, models, sole_server, verification
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    folder = tmp_path / "keys"
    folder.mkdir()
    (folder / "credentials.keys").write_text("one")
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "console.backup"


@pytest.fixture
def data() -> Iterator[Path]:
    yield Path(settings.LIFECYCLE_DATA)
    connections.close_all()


def restore(file: Path, data: Path, keys: Path) -> None:
    backup.restore(file, data=data, keys=keys)


def test_what_was_backed_up_comes_back_and_what_came_later_is_gone(
    store: Store, file: Path, data: Path, keys: Path
) -> None:
    run = making.running(store, making.new(value="x" * 100_000))
    run.ask("c1", to="ann")
    before, head = run.record(), feed.head(making.TENANT)
    backup.write(file, keys=keys, at_ms=making.NOW)
    run.append(making.output(1))
    (keys / "credentials.keys").write_text("two")
    restore(file, data, keys)
    assert run.record() == before
    assert feed.head(making.TENANT)[1] == head[1]
    assert (keys / "credentials.keys").read_text() == "one"
    assert (keys / "credentials.keys.before-restore").read_text() == "two"
    assert verification.verify(making.TENANT).intact
    assert run.append(making.output(1)).position == head[1] + 1


def test_cursors_of_before_must_resync(store: Store, file: Path, data: Path, keys: Path) -> None:
    making.admit(store)
    epoch, head = feed.head(making.TENANT)
    backup.write(file, keys=keys, at_ms=making.NOW)
    restore(file, data, keys)
    assert feed.head(making.TENANT)[0] != epoch
    assert feed.read(making.TENANT, epoch, head).resync


def test_the_file_is_for_its_owner_alone_and_nothing_else_is_left(
    store: Store, file: Path, data: Path, keys: Path, tmp_path: Path
) -> None:
    making.admit(store)
    backup.write(file, keys=keys, at_ms=making.NOW)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"keys", "console.backup"}
    restore(file, data, keys)
    assert not (data / backup.STAGING).exists()
    assert stat.S_IMODE((keys / "credentials.keys").stat().st_mode) == 0o600


def test_a_backup_taken_while_others_write_is_whole(store: Store, file: Path, data: Path, keys: Path) -> None:
    run = making.running(store)
    begun, stop = threading.Event(), threading.Event()

    def write() -> None:
        i = 0
        while not stop.is_set():
            run.append(making.output(i), making.output(i))
            begun.set()
            i += 1
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait(10)
    try:
        backup.write(file, keys=keys, at_ms=making.NOW)
    finally:
        stop.set()
        writer.join()
    written = run.record().version
    restore(file, data, keys)
    assert 4 < run.record().version <= written
    assert verification.verify(making.TENANT).intact


def test_no_restore_while_a_server_runs(store: Store, file: Path, data: Path, keys: Path) -> None:
    made = making.admit(store)
    backup.write(file, keys=keys, at_ms=making.NOW)
    making.admit(store)
    with sole_server.hold(data), pytest.raises(errors.ConfigurationInvalid, match="Another server runs"):
        restore(file, data, keys)
    assert models.Invocation.objects.count() == 2
    assert store.load(made.id)


@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "empty", "missing"])
def test_a_damaged_file_changes_nothing(
    store: Store, file: Path, data: Path, keys: Path, damage: str
) -> None:
    making.admit(store)
    backup.write(file, keys=keys, at_ms=making.NOW)
    making.admit(store)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = {
        "cut": bytes(content[: len(content) // 2]),
        "flipped": bytes(content),
        "other": b"x" * 9,
        "empty": b"",
    }
    file.unlink()
    if damage != "missing":
        file.write_bytes(damaged[damage])
    with pytest.raises(errors.ConfigurationInvalid, match="cannot be restored"):
        restore(file, data, keys)
    assert models.Invocation.objects.count() == 2
    assert not (data / backup.STAGING).exists()


def test_an_archive_with_a_hostile_name_writes_nowhere_else(file: Path, data: Path, keys: Path) -> None:
    with tarfile.open(file, "w") as tar:
        tar.add(keys / "credentials.keys", arcname="../escaped")
    with pytest.raises(errors.ConfigurationInvalid):
        restore(file, data, keys)
    assert not (data / "escaped").exists()


def test_a_restore_that_crashed_when_it_was_ready_is_finished_later(
    store: Store, file: Path, data: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making.admit(store)
    backup.write(file, keys=keys, at_ms=making.NOW)
    making.admit(store)

    def crash(path: str, source: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(backup, "_copy_into", crash)
        with pytest.raises(KeyboardInterrupt):
            restore(file, data, keys)
    assert models.Invocation.objects.count() == 2
    assert backup.finish(data=data, keys=keys)
    assert models.Invocation.objects.count() == 1
    assert not backup.finish(data=data, keys=keys)


def test_the_copy_stands_alone(store: Store, file: Path, keys: Path, tmp_path: Path) -> None:
    making.admit(store)
    backup.write(file, keys=keys, at_ms=making.NOW)
    with tarfile.open(file) as tar:
        tar.extractall(tmp_path / "out", filter="data")
    with closing(sqlite3.connect(tmp_path / "out" / backup.DATABASE)) as copy:
        assert copy.execute("SELECT count(*) FROM journal_event").fetchone() == (1,)
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_walls_come_back_with_the_database(store: Store, file: Path, data: Path, keys: Path) -> None:
    from lifecycle_core.journal import walls

    backup.write(file, keys=keys, at_ms=making.NOW)
    restore(file, data, keys)
    assert walls.missing(connection) == []


def test_native_sessions_come_back_as_far_as_their_logs_were_whole(
    store: Store, file: Path, data: Path, keys: Path, tmp_path: Path
) -> None:
    native = tmp_path / "native"
    log = native / "a" / "sessions" / "s" / "log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(b'{"seq":0}\n{"seq":1}\n{"se')
    found = {"a/sessions/s/log.jsonl": log, "b/gone.jsonl": native / "b" / "gone.jsonl"}
    making.running(store, making.new())
    backup.write(file, keys=keys, at_ms=making.NOW, native=lambda: found)
    log.write_bytes(b'{"seq":0}\n{"seq":"another"}\n')
    (native / "a" / "left.txt").write_text("of the later session")
    backup.restore(file, data=data, keys=keys, native=native)
    assert log.read_bytes() == b'{"seq":0}\n{"seq":1}\n'
    assert [str(path.relative_to(native)) for path in native.rglob("*") if path.is_file()] == list(found)[:1]
