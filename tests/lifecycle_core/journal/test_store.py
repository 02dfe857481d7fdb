"""The store appends whole changes or nothing."""

import pytest

from lifecycle_core.contract import events
from lifecycle_core.contract.status import Status
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db


def test_an_invocation_runs_from_admission_to_its_end() -> None:
    run = making.running(Store())
    approval = run.ask("c1", to="ann")
    run.suspend()
    run.decide(approval)
    assert run.store.claimable(making.NOW, 10)[0].invocation == run.id
    run.resume()
    run.append(making.intended("c1", approval=approval, to="ann"), token=run.token)
    run.append(making.completed("c1"), token=run.token)
    done = run.append(events.InvocationCompleted(result={"sum": 1}), to=Status.COMPLETED, token=run.token)
    assert done.status is Status.COMPLETED
    assert run.record().version == done.version
