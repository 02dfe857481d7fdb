"""A journal of before sessions were held goes on: who runs in a session has it, and whoever starts has its place."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection

from lifecycle_core.contract.status import Status
from lifecycle_core.journal import models, walls
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def as_before() -> Iterator[None]:
    """Bring the tables back to how they are when a test has taken them somewhere else."""
    yield
    migrate()


def migrate(*target: str) -> None:
    call_command("migrate", "journal", *target, verbosity=0, interactive=False)


def test_a_journal_of_before_gives_every_invocation_its_place(store: Store, as_before: None) -> None:
    started = making.admit(store)
    running, waiting, ended = (making.running(store) for _ in range(3))
    waiting.suspend()
    ended.end()
    migrate("0002")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM journal_session WHERE opaque_identity = ''")
    migrate()
    sessions = {row.affinity: row for row in models.Session.objects.all()}
    held = {run.id: sessions[run.record().affinity].holder for run in (running, waiting, ended)}
    assert held == {running.id: running.id, waiting.id: waiting.id, ended.id: None}
    place = sessions[store.load(started.id).affinity]
    assert (place.opaque_identity, place.generation, place.holder) == ("", 0, None)
    assert all(row.compatibility and row.scope_value and row.isolation for row in sessions.values())
    assert walls.missing(connection) == []


def test_a_journal_that_goes_back_keeps_nothing_that_nobody_would_let_go_of(
    store: Store, as_before: None
) -> None:
    held, running = making.running(store), making.running(store)
    held.end(Status.CANCELLED, release=False)
    migrate("0005")
    migrate()
    record, kept = held.record(), running.record()
    assert (record.status, record.worker, record.lease_expires_at) == (Status.CANCELLED, "", 0)
    assert (kept.worker, models.Session.objects.get(affinity=kept.affinity).holder) == ("w1", running.id)
    assert models.Session.objects.get(affinity=record.affinity).holder is None
    assert walls.missing(connection) == []
