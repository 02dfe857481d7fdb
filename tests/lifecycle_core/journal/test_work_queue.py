"""Whatever there was before, looking for work looks at what waits and at nothing else."""

import re
import uuid

import pytest
from django.db import connection

from lifecycle_core.journal import work_queue
from lifecycle_core.journal.models import Invocation
from lifecycle_core.journal.sql import Statement, runner
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db
ENDED = 3000
QUESTION = ("", "", making.NOW, making.NOW, "", "", 32)
WALK = re.compile(r"SCAN (i|elder|journal_invocation)$|Seq Scan on journal_invocation", re.MULTILINE)


@pytest.fixture
def ended(store: Store) -> None:
    """Make many invocations that have ended, all of one session."""
    made = making.admit(store, making.sharing("shared", making.delivery()))
    row = Invocation.objects.get(pk=made.id)
    fields = {field.attname: getattr(row, field.attname) for field in Invocation._meta.concrete_fields}
    Invocation.objects.bulk_create(
        Invocation(**fields | {"id": uuid.uuid4(), "status": "completed", "ready": False, "episode": str(n)})
        for n in range(ENDED)
    )


def plan() -> str:
    """Return how the database would look for work."""
    explain = "EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN "
    statement = Statement(explain + work_queue.CLAIMABLE.postgresql.decode())
    run = runner(connection)
    run(Statement("ANALYZE journal_invocation"), ())
    return "\n".join(str(row[-1]) for row in run(statement, QUESTION).fetchall())


def test_looking_for_work_never_walks_through_what_has_ended(store: Store, ended: None) -> None:
    assert len(store.claimable(making.NOW, 32)) == 1
    found = plan()
    assert not WALK.search(found), found
    assert {"ready_invocations", "leases_by_expiry"} <= set(re.findall(r"\w+", found)), found


def test_without_the_letter_of_the_index_it_would(ended: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: what the plan says is what the statement makes of it."""
    careless = work_queue.CLAIMABLE.postgresql.decode().replace("ready = TRUE", "id IS NOT NULL")
    monkeypatch.setattr(work_queue, "CLAIMABLE", Statement(careless))
    assert "ready_invocations" not in plan()
