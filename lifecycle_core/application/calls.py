"""Find the call that an open request belongs to."""

from uuid import UUID

from lifecycle_core.application import bootstrap
from lifecycle_core.contract import errors
from lifecycle_core.contract.ports import CallRecord


def of_request(invocation: UUID, call: str) -> CallRecord:
    """Return the call of a request; only calls of the newest model turn have open ones. Raises `errors.StatusConflict`."""
    record = bootstrap.journal().load(invocation)
    return of_turn(invocation, record.model_turns, call, record.status)


def of_turn(invocation: UUID, model_turn: int, call: str, status: str) -> CallRecord:
    """Return a call of one model turn. Raises `errors.StatusConflict`, which names the given status."""
    for candidate in bootstrap.journal().calls(invocation, model_turn):
        if candidate.id == call:
            return candidate
    raise errors.StatusConflict(status=status)
