"""How a turn ended or paused, in the shapes of `contract.invocation` with their kind."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lifecycle_core.contract import events
from lifecycle_core.journal.standing import Work


def disposition(kind: str, **fields: Any) -> Callable[[Work, Any], None]:
    """Make a projection that sets how the turn ended: each field is a constant, or is taken from the event by a function."""

    def project(work: Work, event: Any) -> None:
        values = {name: value(event) if callable(value) else value for name, value in fields.items()}
        work.standing.disposition = work.folder.value({"kind": kind, **values})

    return project


def going_on(work: Work, event: events.Event) -> None:
    """Forget how the last turn paused or was interrupted."""
    work.standing.disposition = None


def field(name: str) -> Callable[[Any], Any]:
    """Return how to take a field of an event."""
    return lambda event: getattr(event, name)


CANCELLED: Final = {"code": "PROVIDER_CANCELLED", "retry": "same-episode"}

PROJECTIONS: Final[Mapping[type[events.Event], Callable[[Work, Any], None]]] = {
    events.InvocationResumed: going_on,
    events.UnknownContinued: going_on,
    events.TurnSuspended: disposition("awaiting-input", open=field("open")),
    events.InvocationCompleted: disposition("completed", result=field("result")),
    events.InvocationFailed: disposition(
        "failed", code=field("code"), retry=field("retry"), detail=field("detail")
    ),
    events.InvocationInvalidated: disposition("invalid", code=field("code"), detail=field("detail")),
    events.InvocationBecameUnknown: disposition(
        "unknown", reason=field("reason"), detail=field("detail"), owner=field("owner")
    ),
    events.InvocationCancelled: disposition("failed", **CANCELLED, detail=field("comment")),
    events.UnknownFailed: disposition(
        "failed", code="CALL_INTERRUPTED", retry="new-attempt", detail=field("reason")
    ),
    events.UnknownCancelled: disposition("failed", **CANCELLED, detail=field("reason")),
}
