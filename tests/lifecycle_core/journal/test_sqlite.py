"""Every write to SQLite waits its turn, whoever makes it and however, and what was committed is on the disk."""

import gc
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from uuid import UUID

import pytest
from django.db import OperationalError, connection, connections, transaction

from lifecycle_core.journal import models
from lifecycle_core.journal.sqlite import checkpoint, keeper, writer
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making, racing

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lock() -> writer.Writer:
    return writer.of(str(connection.settings_dict["NAME"]))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait for the lock longer than a moment."""
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.05)


@pytest.fixture
def held(lock: writer.Writer, impatient: None) -> Iterator[None]:
    """Let somebody else be writing."""
    lock.acquire(1)
    yield
    lock.release()


def is_free(lock: writer.Writer) -> bool:
    try:
        lock.acquire(0)
    except writer.Timeout:
        return False
    lock.release()
    return True


def pragma(name: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return cursor.fetchone()[0]


def head(tenant: str) -> models.FeedHead:
    return models.FeedHead(tenant=tenant, n=0, epoch="e")


def test_the_live_connection_loses_no_commit_in_a_power_cut() -> None:
    assert (pragma("journal_mode"), pragma("synchronous")) == ("wal", 2)
    assert connection.connection.getconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE)


WRITES: dict[str, Callable[[], object]] = {
    "a plain save": lambda: head("a").save(),
    "a bulk insert": lambda: models.FeedHead.objects.bulk_create([head("a"), head("b")]),
    "an update": lambda: models.FeedHead.objects.update(n=1),
    "a delete": lambda: models.FeedHead.objects.all().delete(),
    "written SQL": lambda: execute("INSERT INTO journal_feedhead VALUES ('a', 0, 'e', 0, '') RETURNING n"),
    "written SQL behind a comment": lambda: execute("-- why\nDELETE FROM journal_feedhead"),
    "a writing WITH": lambda: execute("WITH x AS (SELECT 1) DELETE FROM journal_feedhead"),
    "a checkpoint": lambda: checkpoint.truncate(connection),
    "an empty atomic block": lambda: atomic(),
}


def execute(statement: str) -> list[object]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def atomic() -> None:
    with transaction.atomic():
        pass


@pytest.mark.parametrize("write", WRITES)
def test_whatever_may_write_waits_for_the_lock(held: None, write: str) -> None:
    with pytest.raises(OperationalError, match="locked"):
        WRITES[write]()


@pytest.mark.parametrize("write", WRITES)
def test_the_lock_is_given_back_after_the_write(lock: writer.Writer, write: str) -> None:
    WRITES[write]()
    assert is_free(lock)


def test_reads_do_not_wait(held: None) -> None:
    assert not models.FeedHead.objects.exists()
    assert execute("WITH x AS (SELECT 1) SELECT * FROM x") == [(1,)]
    assert pragma("journal_mode") == "wal"


def test_the_rows_of_a_lone_writing_statement_are_all_there(lock: writer.Writer) -> None:
    models.FeedHead.objects.bulk_create([head(name) for name in "abc"])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE journal_feedhead SET n = 5 RETURNING tenant")
        assert is_free(lock)
        assert cursor.fetchone() == ("a",)
        assert cursor.fetchmany(1) == [("b",)]
        assert cursor.fetchall() == [("c",)]
        assert cursor.fetchone() is None
        cursor.execute("SELECT n FROM journal_feedhead")
        assert cursor.fetchall() == [(5,), (5,), (5,)]


def test_the_lock_is_held_to_the_end_of_the_transaction(lock: writer.Writer) -> None:
    with transaction.atomic():
        with transaction.atomic():
            head("a").save()
        assert not is_free(lock)
    assert is_free(lock)


def test_a_rollback_an_error_and_a_closed_connection_give_the_lock_back(lock: writer.Writer) -> None:
    with transaction.atomic():
        transaction.set_rollback(True)
    assert is_free(lock)
    with pytest.raises(OperationalError):
        execute("DELETE FROM nothing_here")
    assert is_free(lock)
    transaction.set_autocommit(False)
    head("a").save()
    assert not is_free(lock)
    connection.close()
    assert is_free(lock)


def test_manual_transactions_hold_the_lock_from_the_first_write_to_the_commit(lock: writer.Writer) -> None:
    transaction.set_autocommit(False)
    try:
        assert is_free(lock)
        head("a").save()
        assert not is_free(lock)
        transaction.commit()
        assert is_free(lock)
    finally:
        transaction.set_autocommit(True)


def test_a_connection_that_is_dropped_without_a_word_gives_the_lock_back(lock: writer.Writer) -> None:
    other = connection.copy()
    other.set_autocommit(False)
    other.cursor().execute("DELETE FROM journal_feedhead")
    assert not is_free(lock)
    del other
    gc.collect()
    assert is_free(lock)


def test_no_closing_connection_checkpoints(store: Store) -> None:
    making.running(store)
    log = Path(f"{connection.settings_dict['NAME']}-wal")
    before = log.stat().st_size
    assert before > 0
    connections.close_all()
    assert log.stat().st_size == before
    assert checkpoint.truncate(connection)
    assert log.stat().st_size == 0


def test_a_reader_makes_a_checkpoint_give_up_soon_and_lets_it_be_done_later(store: Store) -> None:
    making.running(store)
    reader = sqlite3.connect(str(connection.settings_dict["NAME"]))
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM journal_event").fetchone()
    making.running(store)
    assert not checkpoint.truncate(connection)
    reader.close()
    assert checkpoint.truncate(connection)


def test_retired_text_is_in_no_file(store: Store) -> None:
    run = making.running(store, making.new(value="a-very-secret-word"))
    run.end()
    assert found_in_files("a-very-secret-word")
    run.retire()
    assert not found_in_files("a-very-secret-word")


def found_in_files(text: str) -> bool:
    database = Path(str(connection.settings_dict["NAME"]))
    return any(text.encode() in path.read_bytes() for path in database.parent.glob(f"{database.name}*"))


# Fairness.


def test_threads_write_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    turns = writer.Queue()
    turns.enter(1)
    order: list[int] = []

    def take(place: int) -> None:
        turns.enter(10)
        order.append(place)
        turns.leave()

    threads = [threading.Thread(target=take, args=(i,)) for i in range(6)]
    for i, thread in enumerate(threads):
        thread.start()
        arrived(turns, i + 1)
    turns.leave()
    for thread in threads:
        thread.join()
    assert order == list(range(6))


def arrived(turns: writer.Queue, count: int) -> None:
    while len(turns._waiting) < count:
        threading.Event().wait(0.001)


def test_who_gives_up_waiting_keeps_nobody_waiting() -> None:
    turns = writer.Queue()
    turns.enter(1)
    with pytest.raises(writer.Timeout):
        turns.enter(0.01)
    turns.leave()
    turns.enter(0)


def test_a_forked_child_does_not_share_the_lock(lock: writer.Writer) -> None:
    name = str(connection.settings_dict["NAME"])
    lock.acquire(1)
    try:
        child = os.fork()
        if child == 0:
            os._exit(0 if not is_free(writer.of(name)) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        lock.release()
    assert is_free(lock)


def test_the_keeper_follows_a_replaced_file(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite3"
    keeper.keep(str(path), 1)
    first = keeper._keepers[str(path)]
    keeper.keep(str(path), 1)
    assert keeper._keepers[str(path)] is first
    path.rename(tmp_path / "old.sqlite3")
    keeper.keep(str(path), 1)
    assert keeper._keepers[str(path)][0] == path.stat().st_ino


WRITING = """
import uuid
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

run = making.Run(store=Store(), id=uuid.UUID(sys.argv[1]))
for i in range(100):
    run.append(making.output(i))
"""


def test_two_processes_take_turns(store: Store, child_environment: dict[str, str]) -> None:
    """While both write, neither writes many times in a row."""
    ours, theirs = making.running(store), making.running(store)
    child = racing.Child(WRITING, child_environment, str(theirs.id))
    child.go()
    stop = threading.Event()

    def write() -> None:
        i = 0
        while not stop.is_set():
            ours.append(making.output(i))
            i += 1
        connections.close_all()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    child.said()
    stop.set()
    for thread in threads:
        thread.join()
    runs = in_a_row(theirs.id)
    assert sorted(runs)[len(runs) // 2] <= 3


def in_a_row(theirs: UUID) -> list[int]:
    """Return how many of our events lie between each two of the other process."""
    events = models.Event.objects.filter(kind="output.produced").order_by("position")
    who = [event.invocation_id == theirs for event in events]
    first, last = who.index(True), len(who) - 1 - who[::-1].index(True)
    return [len(list(group)) for is_theirs, group in groupby(who[first:last]) if not is_theirs] or [0]
