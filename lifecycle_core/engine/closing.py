"""End an invocation: in one transaction with its last fact, everything that is still open is closed with the reason."""

from uuid import UUID

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import CallRecord, Journal, OpenRequest
from lifecycle_core.engine import approvals
from lifecycle_core.engine.episode import Episode

KEEPS_REQUESTS = (events.TurnSuspended, events.InvocationBecameUnknown)
ATTEMPTS = 20


def end(episode: Episode, ended: Event) -> None:
    """Write how a turn ended and give the lease up."""
    ledger = episode.ledger
    if isinstance(ended, KEEPS_REQUESTS):
        ledger.note(ended)
        ledger.commit(release=True)
        return
    if ledger.asked or isinstance(ended, events.InvocationInvalidated | events.InvocationFailed):
        # What is asked in the very commit that ends the run could not be closed by it.
        ledger.commit()
    for _ in range(ATTEMPTS):
        closing = _closing(episode, ended.kind)
        ledger.note(*closing, ended)
        try:
            ledger.commit(release=True)
            return
        except (errors.AlreadyDecided, errors.RequestExpired, errors.StatusConflict):
            if not closing:
                raise
            continue  # Somebody decided between the look and the commit; look again.
    raise errors.StatusConflict(status=ledger.status)


def _closing(episode: Episode, reason: str) -> list[Event]:
    """Return what closes the rest of a turn, beside the results that are about to be committed."""
    settled = episode.ledger.settled
    facts = closing_facts(episode.services.journal, episode.record.id, episode.model_turn, reason)
    return [fact for fact in facts if not (isinstance(fact, events.ToolCompleted) and fact.call in settled)]


def closing_facts(journal: Journal, invocation: UUID, model_turn: int, reason: str) -> list[Event]:
    """Close every open request and give every call that has not been sent its one result.

    A call that was sent and has no outcome is left as it is: it may have happened.
    """
    closed = [_closed(request, reason) for request in journal.open_requests(invocation)]
    return closed + [
        _unsent(call, reason) for call in journal.calls(invocation, model_turn) if _is_unsent(call)
    ]


def _closed(request: OpenRequest, reason: str) -> Event:
    if request.kind == "approval":
        return events.ApprovalCancelled(approval=request.id, call=request.call, reason=reason)
    return events.InputCancelled(input=request.id, call=request.call, reason=reason)


def _is_unsent(call: CallRecord) -> bool:
    return call.state in {"requested", "waiting", "approved"}


def _unsent(call: CallRecord, reason: str) -> Event:
    return approvals.settled(
        call, "cancelled", {"error": "CANCELLED", "detail": f"The run ended first: {reason}."}
    )
