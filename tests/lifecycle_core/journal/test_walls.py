"""The database refuses on its own what no code of ours would do."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.core import checks as django_checks
from django.db import Error, connection, transaction

from lifecycle_core.contract.status import TERMINAL, Status
from lifecycle_core.journal import checks, models, walls
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db


@contextmanager
def refused(sentence: str | None = None) -> Iterator[None]:
    with pytest.raises(Error, match=sentence), transaction.atomic():
        yield


@pytest.mark.parametrize("end", sorted(TERMINAL))
def test_an_ended_invocation_stays_ended(store: Store, end: Status) -> None:
    run = making.running(store)
    run.end(end)
    for status in set(Status) - {end}:
        with refused("an ended invocation stays ended"):
            models.Invocation.objects.filter(id=run.id).update(status=status)
    models.Invocation.objects.filter(id=run.id).update(updated_at=1)


def test_an_unknown_status_is_refused(store: Store) -> None:
    run = making.running(store)
    with refused():
        models.Invocation.objects.filter(id=run.id).update(status="paused")


def test_an_end_leaves_no_work(store: Store) -> None:
    run = making.running(store)
    run.end()
    for column, value in {"ready": True, "open_requests": 1}.items():
        with refused():
            models.Invocation.objects.filter(id=run.id).update(**{column: value})


def test_an_invocation_with_an_open_request_cannot_end(store: Store) -> None:
    run = making.running(store)
    run.ask("c1")
    with refused("open requests"):
        models.Invocation.objects.filter(id=run.id).update(
            status="completed", open_requests=0, lease_expires_at=0, ready=False
        )


def test_an_event_is_never_changed(store: Store) -> None:
    making.running(store)
    with refused("never changed"):
        models.Event.objects.filter(seq=1).update(actor="user:eve")


def test_an_event_is_not_deleted_while_its_delivery_lives(store: Store) -> None:
    making.running(store)
    with refused("retired delivery"):
        models.Event.objects.filter(seq=1).delete()


def test_the_fact_of_a_retirement_is_not_deleted(store: Store) -> None:
    run = making.running(store)
    run.end()
    run.retire()
    with refused("retired delivery"):
        models.Event.objects.all().delete()


def test_a_tombstone_is_neither_changed_nor_deleted(store: Store) -> None:
    run = making.running(store)
    run.end()
    run.retire()
    with refused("never changed"):
        models.Tombstone.objects.update(authorization="another")
    with refused("never deleted"):
        models.Tombstone.objects.all().delete()


def test_a_seq_is_taken_once(store: Store) -> None:
    run = making.running(store)
    event = models.Event.objects.get(invocation=run.id, seq=2)
    event.position = 99
    with refused():
        event.save(force_insert=True)


def test_a_position_is_taken_once(store: Store) -> None:
    run = making.running(store)
    event = models.Event.objects.get(invocation=run.id, seq=2)
    event.seq = 99
    with refused():
        event.save(force_insert=True)


def test_one_input_request_is_open_for_an_invocation(store: Store) -> None:
    run = making.running(store)
    run.append(making.input_requested("c1"))
    second = models.InputRequest.objects.get()
    second.id = uuid4()
    with refused():
        second.save(force_insert=True)


def test_an_approval_is_decided_once_for_each_slot(store: Store) -> None:
    run = making.running(store)
    run.decide(run.ask("c1"))
    again = models.Decision.objects.get()
    with refused():
        again.save(force_insert=True)


def test_the_walls_stand_and_are_missed_when_they_do_not() -> None:
    assert walls.missing(connection) == []
    assert found("journal.W002") == []
    walls.remove(connection)
    assert walls.missing(connection) == sorted(walls.WALLS)
    assert "journal_event_stays" in found("journal.W002")[0].msg
    walls.reinstall(using=connection.alias)
    assert walls.missing(connection) == []


def test_the_live_connection_is_durable() -> None:
    assert [
        message for message in checks.check([connection.alias]) if message.level >= django_checks.ERROR
    ] == []


@pytest.mark.django_db(transaction=True)
def test_settings_that_lose_commits_are_an_error() -> None:
    weaken, restore, code = {
        "sqlite": ("PRAGMA synchronous=NORMAL", "PRAGMA synchronous=FULL", "journal.E002"),
        "postgresql": ("SET synchronous_commit = off", "SET synchronous_commit = on", "journal.E004"),
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(weaken)
        try:
            assert found(code)
        finally:
            cursor.execute(restore)


def found(code: str) -> list[django_checks.CheckMessage]:
    return [message for message in checks.check([connection.alias]) if message.id == code]
