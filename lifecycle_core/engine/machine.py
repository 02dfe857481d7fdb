"""The journal state machine.

Rule 1: which event may follow which status, and what status follows, is said here and nowhere else. No row means refused.
Rule 2: this module does not know who asked, which provider answered or how facts are stored.
Rule 3: a refused event raises and changes nothing.
Rule 4: terminal statuses have absorbing rows only; so a late fact can be kept without undoing anything. `unknown` is not
    terminal: a coordinator resolves it, with a reason.

An invocation is `starting` until its native session is open, `running` while a worker drives it, and `awaiting-input` when
it waits for people and holds nothing: no worker, no credential, no session. Answers are facts: they may arrive while the
invocation still runs (another call of the same turn is being executed), so `running` absorbs them too. What a worker delivers
after it has lost its lease is a late fact, wherever the one that took over has got to meanwhile.

Reference: seed-contracts 5, DESIGN section 4. `docs/statuses.md` is generated from this table.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.status import Status

type Rows = Mapping[type[Event], Status]


def _absorb(kinds: Iterable[type[Event]], status: Status) -> dict[type[Event], Status]:
    return dict.fromkeys(kinds, status)


# What may still be said of an invocation that has ended.
_BEHIND: Final = (*events.LATE, *events.EXTENSIONS)

TRANSITIONS: Final[Mapping[Status | None, Rows]] = {
    None: {events.InvocationAdmitted: Status.STARTING},
    Status.STARTING: {
        events.InvocationClaimed: Status.STARTING,
        **_absorb(events.EXTENSIONS, Status.STARTING),
        events.LateResult: Status.STARTING,
        events.SessionOpened: Status.RUNNING,
        events.SessionRestored: Status.RUNNING,
        events.InvocationFailed: Status.FAILED,
        events.InvocationBecameUnknown: Status.UNKNOWN,
        events.InvocationCancelled: Status.CANCELLED,
    },
    Status.RUNNING: {
        events.InvocationClaimed: Status.RUNNING,
        events.SessionRestored: Status.RUNNING,
        **_absorb(events.TURN, Status.RUNNING),
        **_absorb(events.ASKED, Status.RUNNING),
        **_absorb(events.RESOLVED, Status.RUNNING),
        **_absorb(events.CLOSED, Status.RUNNING),
        **_absorb(events.EXTENSIONS, Status.RUNNING),
        events.LateResult: Status.RUNNING,
        events.TurnSuspended: Status.AWAITING_INPUT,
        events.InvocationCompleted: Status.COMPLETED,
        events.InvocationFailed: Status.FAILED,
        events.InvocationInvalidated: Status.INVALID,
        events.InvocationBecameUnknown: Status.UNKNOWN,
        events.InvocationCancelled: Status.CANCELLED,
    },
    Status.AWAITING_INPUT: {
        **_absorb(events.RESOLVED, Status.AWAITING_INPUT),
        **_absorb(events.CLOSED, Status.AWAITING_INPUT),
        **_absorb(events.EXTENSIONS, Status.AWAITING_INPUT),
        events.LateResult: Status.AWAITING_INPUT,
        events.ToolCompleted: Status.AWAITING_INPUT,
        events.InvocationResumed: Status.RUNNING,
        events.InvocationInvalidated: Status.INVALID,
        events.InvocationBecameUnknown: Status.UNKNOWN,
        events.InvocationCancelled: Status.CANCELLED,
    },
    Status.UNKNOWN: {
        **_absorb(events.CLOSED, Status.UNKNOWN),
        **_absorb(events.LATE, Status.UNKNOWN),
        **_absorb(events.EXTENSIONS, Status.UNKNOWN),
        events.CallResolved: Status.UNKNOWN,
        events.ToolCompleted: Status.UNKNOWN,
        events.UnknownContinued: Status.RUNNING,
        events.UnknownFailed: Status.FAILED,
        events.UnknownCancelled: Status.CANCELLED,
    },
    Status.COMPLETED: _absorb(_BEHIND, Status.COMPLETED),
    Status.FAILED: _absorb(_BEHIND, Status.FAILED),
    Status.INVALID: _absorb(_BEHIND, Status.INVALID),
    Status.CANCELLED: _absorb(_BEHIND, Status.CANCELLED),
}


def next_status(status: Status | None, event_class: type[Event]) -> Status:
    """Return the status that follows. Raises `errors.StatusConflict` where the table has no row."""
    try:
        return TRANSITIONS[status][event_class]
    except KeyError:
        raise errors.StatusConflict(status=status or "") from None


def transitions(facts: Iterable[Event], allowed: Iterable[Status]) -> dict[Status, Status]:
    """Map every status in `allowed` from which the whole sequence of facts is legal to the status in which it ends.

    Raises `errors.StatusConflict` when there is none.
    """
    facts = tuple(facts)
    ends: dict[Status, Status] = {}
    for start in allowed:
        status = start
        try:
            for fact in facts:
                status = next_status(status, type(fact))
        except errors.StatusConflict:
            continue
        ends[start] = status
    if not ends:
        raise errors.StatusConflict()
    return ends
