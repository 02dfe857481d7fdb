"""The whole product of statuses and events, written out here by hand from the design and not from the table."""

from typing import Final

import pytest

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.status import ACTIVE, TERMINAL, WORKING, Status
from lifecycle_core.engine import machine

STATUSES: Final[tuple[Status | None, ...]] = (None, *Status)

# One line per event: every status from which it may happen, and what follows. `=` is "stays".
ALWAYS: Final = "starting= running= awaiting-input= completed= failed= invalid= cancelled= unknown="
EXPECTED: Final[dict[str, str]] = {
    "invocation.admitted": "none>starting",
    "invocation.claimed": "starting= running=",
    "session.opened": "starting>running",
    "session.restored": "starting>running running=",
    "invocation.resumed": "awaiting-input>running",
    "turn.suspended": "running>awaiting-input",
    "invocation.completed": "running>completed",
    "invocation.failed": "starting>failed running>failed",
    "invocation.invalidated": "running>invalid awaiting-input>invalid",
    "invocation.became-unknown": "starting>unknown running>unknown awaiting-input>unknown",
    "invocation.cancelled": "starting>cancelled running>cancelled awaiting-input>cancelled",
    "call.resolved": "unknown=",
    "unknown.continued": "unknown>running",
    "unknown.failed": "unknown>failed",
    "unknown.cancelled": "unknown>cancelled",
    "model.requested": "running=",
    "model.failed": "running=",
    "model.responded": "running=",
    "output.produced": "running=",
    "tool.requested": "running=",
    "tool.intended": "running=",
    "tool.attempted": "running=",
    "tool.completed": "running= awaiting-input= unknown=",
    "approval.requested": "running=",
    "approval.decided": "running= awaiting-input=",
    "approval.expired": "running= awaiting-input=",
    "approval.superseded": "running= awaiting-input=",
    "approval.cancelled": "running= awaiting-input= unknown=",
    "input.requested": "running=",
    "input.answered": "running= awaiting-input=",
    "input.declined": "running= awaiting-input=",
    "input.expired": "running= awaiting-input=",
    "input.cancelled": "running= awaiting-input= unknown=",
    "extension.failed": ALWAYS,
    "extension.overdue": ALWAYS,
    "extension.suspended": ALWAYS,
    "late.result": ALWAYS,
    "late.answer": "completed= failed= invalid= cancelled= unknown=",
    "late.provider": "completed= failed= invalid= cancelled= unknown=",
    "delivery.retired": "",
}


def expected(status: Status | None, event: type[Event]) -> Status | None:
    """Read the table above; nothing means refused."""
    name = "none" if status is None else status.value
    for row in EXPECTED[event.kind].split():
        if row == f"{name}=":
            return status
        if row.startswith(f"{name}>"):
            return Status(row.partition(">")[2])
    return None


def test_the_expectation_speaks_of_every_event_and_no_other() -> None:
    assert set(EXPECTED) == {event.kind for event in events.ALL}


@pytest.mark.parametrize("event", events.ALL, ids=lambda event: event.kind)
@pytest.mark.parametrize("status", STATUSES, ids=lambda status: str(status or "none"))
def test_every_pair_of_status_and_event_does_what_the_design_says(
    status: Status | None, event: type[Event]
) -> None:
    before = {key: dict(rows) for key, rows in machine.TRANSITIONS.items()}
    follows = expected(status, event)
    if follows is None:
        with pytest.raises(errors.StatusConflict) as refused:
            machine.next_status(status, event)
        assert refused.value.status == (status or "")
    else:
        assert machine.next_status(status, event) is follows
    assert {key: dict(rows) for key, rows in machine.TRANSITIONS.items()} == before


def test_every_status_can_be_reached_from_nothing() -> None:
    reached: set[Status | None] = {None}
    for _ in Status:
        reached |= {to for status in reached for to in machine.TRANSITIONS[status].values()}
    assert reached == set(STATUSES)


def test_every_status_that_is_not_terminal_leads_to_an_end() -> None:
    ending: set[Status | None] = set(TERMINAL)
    for _ in Status:
        ending |= {status for status, rows in machine.TRANSITIONS.items() if ending & set(rows.values())}
    assert ending == set(STATUSES)


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_an_ended_invocation_absorbs_late_facts_and_nothing_else(status: Status) -> None:
    assert dict(machine.TRANSITIONS[status]) == dict.fromkeys((*events.LATE, *events.EXTENSIONS), status)


def test_no_event_but_admission_creates_anything() -> None:
    assert list(machine.TRANSITIONS[None]) == [events.InvocationAdmitted]
    created = [status for status in Status if events.InvocationAdmitted in machine.TRANSITIONS[status]]
    assert created == []


def test_unknown_is_not_terminal_and_not_active() -> None:
    assert Status.UNKNOWN not in TERMINAL | ACTIVE
    assert set(Status) == TERMINAL | ACTIVE | {Status.UNKNOWN}
    assert WORKING < ACTIVE


# A sequence of facts is one transition.

RESUMED = events.InvocationResumed(worker="w", token=1)
SUSPENDED = events.TurnSuspended(open=[])
CANCELLED = events.InvocationCancelled(reason="COORDINATOR_STOP", by="user:ann")


def test_a_sequence_ends_where_its_last_fact_leads() -> None:
    ends = machine.transitions((RESUMED, SUSPENDED), {Status.AWAITING_INPUT})
    assert ends == {Status.AWAITING_INPUT: Status.AWAITING_INPUT}


def test_a_sequence_keeps_only_the_statuses_from_which_all_of_it_is_legal() -> None:
    ends = machine.transitions((SUSPENDED, CANCELLED), set(Status))
    assert ends == {Status.RUNNING: Status.CANCELLED}


def test_a_sequence_that_is_legal_from_nowhere_is_refused() -> None:
    with pytest.raises(errors.StatusConflict):
        machine.transitions((CANCELLED, RESUMED), set(Status))
    with pytest.raises(errors.StatusConflict):
        machine.transitions((SUSPENDED,), {Status.COMPLETED})
