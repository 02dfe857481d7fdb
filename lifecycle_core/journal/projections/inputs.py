"""Input requests: one open for an invocation, answered by whoever is first, or closed without an answer."""

from typing import Final
from uuid import UUID

from lifecycle_core.contract import errors, events
from lifecycle_core.journal import sql
from lifecycle_core.journal.sql import Statement
from lifecycle_core.journal.standing import Work

REQUESTED: Final = Statement(
    "INSERT INTO journal_inputrequest (id, tenant, invocation_id, call, request_identity, state, version, prompt,"
    " response_schema, requested_at, expires_at, closed_by, claimed_by, response_kind, answer, content_identity, receipt)"
    " VALUES (%s, %s, %s, %s, %s, 'pending', 1, %s, %s, %s, %s, '', '', '', 'null', '', '') ON CONFLICT DO NOTHING"
)
CALL_ASKS: Final = Statement(
    "UPDATE journal_toolcall SET state = 'waiting' WHERE invocation_id = %s AND identity = %s AND state <> 'settled'"
)
ANSWERED: Final = Statement(
    "UPDATE journal_inputrequest SET state = 'answered', closed_by = %s, closed_at = %s, response_kind = %s,"
    " answer = %s, content_identity = %s, receipt = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending' AND (expires_at = 0 OR expires_at > %s)"
)
EXPIRED: Final = Statement(
    "UPDATE journal_inputrequest SET state = 'expired', closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending' AND expires_at > 0 AND expires_at <= %s"
)
CLOSED: Final = Statement(
    "UPDATE journal_inputrequest SET state = %s, closed_by = %s, closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending'"
)
NOW: Final = Statement(
    "SELECT state, closed_by, closed_at FROM journal_inputrequest WHERE id = %s AND invocation_id = %s"
)


def requested(work: Work, event: events.InputRequested) -> None:
    """Ask people a question, if none is open."""
    place = (
        UUID(event.input),
        work.standing.tenant,
        work.standing.id,
        event.call,
        sql.plain(event.request_identity),
    )
    asks = (
        work.folder.value(event.prompt),
        work.folder.value(event.response_schema),
        work.at,
        event.expires_at,
    )
    work.one(work.run(REQUESTED, (*place, *asks)))
    work.run(CALL_ASKS, (work.standing.id, event.call))
    work.standing.open_requests += 1


def answered(work: Work, event: events.InputAnswered) -> None:
    """Take an answer, if the question is open and in time."""
    answer = (event.response_kind, work.folder.value(event.content), event.content_identity, event.receipt)
    where = (UUID(event.input), work.standing.id, work.at)
    if not work.run(ANSWERED, (event.by, work.at, *answer, *where)).rowcount:
        raise refusal(work, UUID(event.input))
    work.standing.open_requests -= 1


def declined(work: Work, event: events.InputDeclined) -> None:
    """Close a question that somebody will not answer."""
    close(work, event.input, "declined", event.by)


def expired(work: Work, event: events.InputExpired) -> None:
    """Close a question whose time has passed."""
    work.one(work.run(EXPIRED, (work.at, UUID(event.input), work.standing.id, work.at)))
    work.standing.open_requests -= 1


def cancelled(work: Work, event: events.InputCancelled) -> None:
    """Close a question that is no longer needed."""
    close(work, event.input, "cancelled", "")


def close(work: Work, request: str, state: str, by: str) -> None:
    """Close an open question without an answer."""
    if not work.run(CLOSED, (state, by, work.at, UUID(request), work.standing.id)).rowcount:
        raise refusal(work, UUID(request))
    work.standing.open_requests -= 1


def refusal(work: Work, request: UUID) -> errors.Refused:
    """Say why an answer did not count."""
    row = work.run(NOW, (request, work.standing.id)).fetchone()
    if row is None:
        return errors.NotFound()
    state, by, at = row
    return (
        errors.RequestExpired()
        if state == "pending"
        else errors.AlreadyDecided(state=state, by=by, at_ms=at or 0)
    )
