"""Approvals: asked for, decided by whoever is first, or closed without a decision; and what that makes of their calls."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.journal import sql
from lifecycle_core.journal.sql import Statement
from lifecycle_core.journal.standing import Work

CALL_ASKED: Final = Statement(
    "UPDATE journal_toolcall SET state = 'waiting', asked = (1 = 1), approval = %s, bound = %s,"
    " effective_digest = %s, expires_at = %s, arguments = %s, arguments_digest = %s"
    " WHERE invocation_id = %s AND identity = %s"
    # A call that nobody was asked about may have to ask after all, when what it would change has changed.
    " AND (state IN ('requested', 'waiting') OR state = 'intended' AND approval IS NULL) RETURNING proposed"
)
REQUESTED: Final = Statement(
    "INSERT INTO journal_approval (id, tenant, invocation_id, call, call_id, tool, effect_class, state, version,"
    " arguments, proposed, bound, preview, request_digest, effective_digest, rule, risk, requested_at, expires_at,"
    " closed_by, claimed_by, consumed_call)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, 'pending', 1, %s, %s, %s, %s, %s, '', %s, %s, %s, %s, '', '', '')"
    " ON CONFLICT DO NOTHING"
)
DECIDED: Final = Statement(
    "UPDATE journal_approval SET state = %s, effective_digest = %s, closed_by = %s, closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND call = %s AND state = 'pending' AND request_digest = %s"
    " AND (expires_at = 0 OR expires_at > %s)"
)
EDITED: Final = Statement(
    "UPDATE journal_approval SET arguments = %s, bound = %s, preview = %s WHERE id = %s"
)
NOW: Final = Statement(
    "SELECT state, closed_by, closed_at, request_digest FROM journal_approval WHERE id = %s AND invocation_id = %s"
)
DECISION: Final = Statement(
    'INSERT INTO journal_decision (approval_id, slot, decision, "by", at, reason, digest) VALUES (%s, 0, %s, %s, %s, %s, %s)'
)
CALL_APPROVED: Final = Statement(
    "UPDATE journal_toolcall SET state = 'approved', effective_digest = %s"
    " WHERE invocation_id = %s AND identity = %s AND state = 'waiting' AND approval = %s"
)
CALL_EDITED: Final = Statement(
    "UPDATE journal_toolcall SET arguments = %s, arguments_digest = %s, bound = %s, edited = %s"
    " WHERE invocation_id = %s AND identity = %s"
)
EXPIRED: Final = Statement(
    "UPDATE journal_approval SET state = 'expired', closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending' AND expires_at > 0 AND expires_at <= %s"
)
CLOSED: Final = Statement(
    "UPDATE journal_approval SET state = %s, closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending'"
)
VOIDED: Final = Statement(
    "UPDATE journal_approval SET state = 'superseded', version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state IN ('approved', 'edited')"
)
CALL_ASKS_AGAIN: Final = Statement(
    "UPDATE journal_toolcall SET state = 'requested', approval = NULL, expires_at = 0"
    " WHERE invocation_id = %s AND identity = %s AND state <> 'settled' AND approval = %s"
)

STATES: Final[Mapping[str, str]] = {
    "approve": "approved",
    "edit": "edited",
    "reject": "rejected",
    "respond": "responded",
}


def requested(work: Work, event: events.ApprovalRequested) -> None:
    """Ask people about a call."""
    approval, bound = UUID(event.approval), work.folder.value(event.bound)
    arguments = work.folder.value(event.arguments)
    asked = (approval, bound, event.request_digest, event.expires_at)
    runs = (arguments, digests.digest(event.arguments))
    row = work.run(CALL_ASKED, (*asked, *runs, work.standing.id, event.call)).fetchone()
    if row is None:
        raise work.conflict()
    place = (approval, work.standing.tenant, work.standing.id)
    call = (event.call, sql.plain(event.call_id), sql.plain(event.tool), event.effect_class)
    shown = (arguments, row[0], bound, work.folder.value(event.preview))
    asks = (event.request_digest, sql.plain(event.rule), event.risk, work.at, event.expires_at)
    work.one(work.run(REQUESTED, (*place, *call, *shown, *asks)))
    work.standing.open_requests += 1


def decided(work: Work, event: events.ApprovalDecided) -> None:
    """Decide, if nobody has, on what is asked now, and in time; only a rejection may come late."""
    approval, invocation = UUID(event.approval), work.standing.id
    after = -1 if event.decision == "reject" else work.at
    verdict = (STATES[event.decision], event.effective_digest, event.by, work.at)
    conditions = (*verdict, approval, invocation, event.call, event.request_digest, after)
    if not work.run(DECIDED, conditions).rowcount:
        raise refusal(work, approval, event.request_digest)
    reason, digest = work.folder.value(event.reason), digests.digest(event.payload())
    work.run(DECISION, (approval, event.decision, event.by, work.at, reason, digest))
    work.standing.open_requests -= 1
    if event.decision in ("approve", "edit"):
        work.one(work.run(CALL_APPROVED, (event.effective_digest, invocation, event.call, approval)))
    if event.decision == "edit":
        edit(work, event)


def edit(work: Work, event: events.ApprovalDecided) -> None:
    """Put a person's arguments in the place of the agent's."""
    arguments, bound = work.folder.value(event.arguments), work.folder.value(event.bound or {})
    work.run(EDITED, (arguments, bound, work.folder.value(event.preview), UUID(event.approval)))
    digest = digests.digest(event.arguments)
    work.run(CALL_EDITED, (arguments, digest, bound, True, work.standing.id, event.call))


def expired(work: Work, event: events.ApprovalExpired) -> None:
    """Close an approval whose time has passed."""
    conditions = (work.at, UUID(event.approval), work.standing.id, work.at)
    work.one(work.run(EXPIRED, conditions))
    work.standing.open_requests -= 1


def cancelled(work: Work, event: events.ApprovalCancelled) -> None:
    """Close an open approval that is no longer needed."""
    work.one(work.run(CLOSED, ("cancelled", work.at, UUID(event.approval), work.standing.id)))
    work.standing.open_requests -= 1


def superseded(work: Work, event: events.ApprovalSuperseded) -> None:
    """Void an approval, open or given; its call has to ask again."""
    approval, invocation = UUID(event.approval), work.standing.id
    if work.run(CLOSED, ("superseded", work.at, approval, invocation)).rowcount:
        work.standing.open_requests -= 1
    else:
        work.one(work.run(VOIDED, (approval, invocation)))
    work.one(work.run(CALL_ASKS_AGAIN, (invocation, event.call, approval)))


def refusal(work: Work, approval: UUID, request_digest: str) -> errors.Refused:
    """Say why a decision did not count."""
    state, by, at, asked = now(work, approval)
    if state != "pending":
        return errors.AlreadyDecided(state=state, by=by, at_ms=at or 0)
    return errors.DigestMismatch() if asked != request_digest else errors.RequestExpired()


def now(work: Work, approval: UUID) -> tuple[str, str, int | None, str]:
    """Read back how an approval of this invocation stands. Raises `errors.NotFound`."""
    row: tuple[str, str, int | None, str] | None = work.run(NOW, (approval, work.standing.id)).fetchone()
    if row is None:
        raise errors.NotFound
    return row
