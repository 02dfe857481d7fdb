"""What each event changes beside the journal: calls, approvals, inputs, sessions and counters.

One function for each class of event, found in `PROJECTIONS`; a class that is not there changes nothing. Each is a conditional
statement: when the rows are not as the event supposes, it raises, and the whole change is refused.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID, uuid4

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.journal.sql import Result, Statement
from lifecycle_core.journal.standing import Work

# ---------------------------------------------------------------------------------------------------------------- calls

CALL_REQUESTED: Final = Statement(
    'INSERT INTO journal_toolcall (invocation_id, identity, call_id, model_turn, "index", tool, effect_class, state,'
    " arguments, proposed, arguments_digest, asked, attempts, edited, bound, effective_digest, expires_at, content)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0, %s, '{}', %s, 0, 'null') ON CONFLICT DO NOTHING"
)
CALL_INTENDED: Final = Statement(
    "UPDATE journal_toolcall SET state = 'intended', attempts = attempts + 1"
    " WHERE invocation_id = %s AND identity = %s AND state IN ('requested', 'approved', 'intended')"
    " AND (approval IS NOT NULL OR NOT asked)"
    " RETURNING approval, arguments_digest, effective_digest"
)
CALL_COMPLETED: Final = Statement(
    "UPDATE journal_toolcall SET state = 'settled', outcome = %s, content = %s"
    " WHERE invocation_id = %s AND identity = %s AND state <> 'settled'"
)
APPROVAL_CONSUMED: Final = Statement(
    "UPDATE journal_approval SET consumed_at = %s, consumed_token = %s, consumed_call = %s"
    " WHERE id = %s AND invocation_id = %s AND call = %s AND state IN ('approved', 'edited') AND effective_digest = %s"
    " AND (consumed_at IS NULL OR consumed_call = %s)"
)


def tool_requested(work: Work, event: events.ToolRequested) -> None:
    """Enter a call; one that asks waits."""
    arguments = work.folder.value(event.arguments)
    asks = event.verdict == "ask"
    state = "waiting" if asks else "requested"
    place = (
        event.call,
        plain(event.call_id),
        event.model_turn,
        event.index,
        plain(event.tool),
        event.effect_class,
    )
    digest = event.arguments_digest
    values = (work.standing.id, *place, state, arguments, arguments, digest, asks, False, digest)
    one(work, work.run(CALL_REQUESTED, values))
    work.standing.tool_calls += 1


def tool_intended(work: Work, event: events.ToolIntended) -> None:
    """Let a call reach the world; an approved one consumes its approval, and runs what was approved."""
    row = work.run(CALL_INTENDED, (work.standing.id, event.call)).fetchone()
    if row is None:
        raise work.conflict()
    approval = UUID(event.approval) if event.approval else None
    if approval != (UUID(str(row[0])) if row[0] else None):
        raise errors.DigestMismatch
    if approval is not None:
        if event.arguments_digest != row[1]:
            raise errors.DigestMismatch
        consume(work, event, approval, row[2])


def consume(work: Work, event: events.ToolIntended, approval: UUID, digest: str) -> None:
    """Use an approval up: for this call alone, which may come back to it after a crash."""
    used = (work.at, event.token, event.call)
    if work.run(
        APPROVAL_CONSUMED, (*used, approval, work.standing.id, event.call, digest, event.call)
    ).rowcount:
        return
    state, by, at, *_ = approval_now(work, approval)
    if state in ("approved", "edited"):
        raise errors.DigestMismatch
    raise errors.AlreadyDecided(state=state, by=by, at_ms=at or 0)


def tool_completed(work: Work, event: events.ToolCompleted) -> None:
    """Give a call its one result."""
    content = work.folder.value(event.content)
    one(work, work.run(CALL_COMPLETED, (event.outcome, content, work.standing.id, event.call)))


# ------------------------------------------------------------------------------------------------------------ approvals

CALL_ASKED: Final = Statement(
    "UPDATE journal_toolcall SET state = 'waiting', asked = (1 = 1), approval = %s, bound = %s,"
    " effective_digest = %s, expires_at = %s"
    " WHERE invocation_id = %s AND identity = %s AND state IN ('requested', 'waiting') RETURNING proposed"
)
APPROVAL_REQUESTED: Final = Statement(
    "INSERT INTO journal_approval (id, tenant, invocation_id, call, call_id, tool, effect_class, state, version,"
    " arguments, proposed, bound, preview, request_digest, effective_digest, rule, risk, requested_at, expires_at,"
    " closed_by, claimed_by, consumed_call)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, 'pending', 1, %s, %s, %s, %s, %s, '', %s, %s, %s, %s, '', '', '')"
    " ON CONFLICT DO NOTHING"
)
APPROVAL_DECIDED: Final = Statement(
    "UPDATE journal_approval SET state = %s, effective_digest = %s, closed_by = %s, closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND call = %s AND state = 'pending' AND request_digest = %s"
    " AND (expires_at = 0 OR expires_at > %s)"
)
APPROVAL_EDITED: Final = Statement(
    "UPDATE journal_approval SET arguments = %s, bound = %s, preview = %s WHERE id = %s"
)
APPROVAL_NOW: Final = Statement(
    "SELECT state, closed_by, closed_at, request_digest FROM journal_approval WHERE id = %s AND invocation_id = %s"
)
DECIDED: Final = Statement(
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
APPROVAL_EXPIRED: Final = Statement(
    "UPDATE journal_approval SET state = 'expired', closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending' AND expires_at > 0 AND expires_at <= %s"
)
APPROVAL_CLOSED: Final = Statement(
    "UPDATE journal_approval SET state = %s, closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending'"
)
APPROVAL_VOIDED: Final = Statement(
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


def approval_requested(work: Work, event: events.ApprovalRequested) -> None:
    """Ask people about a call."""
    approval, bound = UUID(event.approval), work.folder.value(event.bound)
    asked = (approval, bound, event.request_digest, event.expires_at, work.standing.id, event.call)
    row = work.run(CALL_ASKED, asked).fetchone()
    if row is None:
        raise work.conflict()
    place = (
        approval,
        work.standing.tenant,
        work.standing.id,
        event.call,
        plain(event.call_id),
        plain(event.tool),
    )
    shown = (work.folder.value(event.arguments), row[0], bound, work.folder.value(event.preview))
    asks = (event.request_digest, plain(event.rule), event.risk, work.at, event.expires_at)
    one(work, work.run(APPROVAL_REQUESTED, (*place, event.effect_class, *shown, *asks)))
    work.standing.open_requests += 1


def approval_decided(work: Work, event: events.ApprovalDecided) -> None:
    """Decide, if nobody has, on what is asked now, and in time; only a rejection may come late."""
    approval, invocation = UUID(event.approval), work.standing.id
    after = -1 if event.decision == "reject" else work.at
    verdict = (STATES[event.decision], event.effective_digest, event.by, work.at)
    decided = (*verdict, approval, invocation, event.call, event.request_digest, after)
    if not work.run(APPROVAL_DECIDED, decided).rowcount:
        raise refusal(work, approval, event.request_digest)
    reason, digest = work.folder.value(event.reason), digests.digest(event.payload())
    work.run(DECIDED, (approval, event.decision, event.by, work.at, reason, digest))
    work.standing.open_requests -= 1
    if event.decision in ("approve", "edit"):
        one(work, work.run(CALL_APPROVED, (event.effective_digest, invocation, event.call, approval)))
    if event.decision == "edit":
        edit(work, event)


def edit(work: Work, event: events.ApprovalDecided) -> None:
    """Put a person's arguments in the place of the agent's."""
    arguments, bound = work.folder.value(event.arguments), work.folder.value(event.bound or {})
    work.run(APPROVAL_EDITED, (arguments, bound, work.folder.value(event.preview), UUID(event.approval)))
    digest = digests.digest(event.arguments)
    work.run(CALL_EDITED, (arguments, digest, bound, True, work.standing.id, event.call))


def approval_expired(work: Work, event: events.ApprovalExpired) -> None:
    """Close an approval whose time has passed."""
    expired = (work.at, UUID(event.approval), work.standing.id, work.at)
    one(work, work.run(APPROVAL_EXPIRED, expired))
    work.standing.open_requests -= 1


def approval_cancelled(work: Work, event: events.ApprovalCancelled) -> None:
    """Close an open approval that is no longer needed."""
    one(work, work.run(APPROVAL_CLOSED, ("cancelled", work.at, UUID(event.approval), work.standing.id)))
    work.standing.open_requests -= 1


def approval_superseded(work: Work, event: events.ApprovalSuperseded) -> None:
    """Void an approval, open or given; its call has to ask again."""
    approval, invocation = UUID(event.approval), work.standing.id
    if work.run(APPROVAL_CLOSED, ("superseded", work.at, approval, invocation)).rowcount:
        work.standing.open_requests -= 1
    else:
        one(work, work.run(APPROVAL_VOIDED, (approval, invocation)))
    one(work, work.run(CALL_ASKS_AGAIN, (invocation, event.call, approval)))


def refusal(work: Work, approval: UUID, request_digest: str) -> errors.Refused:
    """Say why a decision did not count."""
    state, by, at, asked = approval_now(work, approval)
    if state != "pending":
        return errors.AlreadyDecided(state=state, by=by, at_ms=at or 0)
    return errors.DigestMismatch() if asked != request_digest else errors.RequestExpired()


def approval_now(work: Work, approval: UUID) -> tuple[str, str, int | None, str]:
    """Read back how an approval of this invocation stands. Raises `errors.NotFound`."""
    row: tuple[str, str, int | None, str] | None = work.run(
        APPROVAL_NOW, (approval, work.standing.id)
    ).fetchone()
    if row is None:
        raise errors.NotFound
    return row


# --------------------------------------------------------------------------------------------------------------- inputs

INPUT_REQUESTED: Final = Statement(
    "INSERT INTO journal_inputrequest (id, tenant, invocation_id, call, request_identity, state, version, prompt,"
    " response_schema, requested_at, expires_at, closed_by, claimed_by, response_kind, answer, content_identity, receipt)"
    " VALUES (%s, %s, %s, %s, %s, 'pending', 1, %s, %s, %s, %s, '', '', '', 'null', '', '') ON CONFLICT DO NOTHING"
)
CALL_ASKS: Final = Statement(
    "UPDATE journal_toolcall SET state = 'waiting' WHERE invocation_id = %s AND identity = %s AND state <> 'settled'"
)
INPUT_ANSWERED: Final = Statement(
    "UPDATE journal_inputrequest SET state = 'answered', closed_by = %s, closed_at = %s, response_kind = %s,"
    " answer = %s, content_identity = %s, receipt = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending' AND (expires_at = 0 OR expires_at > %s)"
)
INPUT_EXPIRED: Final = Statement(
    "UPDATE journal_inputrequest SET state = 'expired', closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending' AND expires_at > 0 AND expires_at <= %s"
)
INPUT_CLOSED: Final = Statement(
    "UPDATE journal_inputrequest SET state = %s, closed_by = %s, closed_at = %s, version = version + 1"
    " WHERE id = %s AND invocation_id = %s AND state = 'pending'"
)
INPUT_NOW: Final = Statement(
    "SELECT state, closed_by, closed_at FROM journal_inputrequest WHERE id = %s AND invocation_id = %s"
)


def input_requested(work: Work, event: events.InputRequested) -> None:
    """Ask people a question, if none is open."""
    place = (
        UUID(event.input),
        work.standing.tenant,
        work.standing.id,
        event.call,
        plain(event.request_identity),
    )
    asks = (
        work.folder.value(event.prompt),
        work.folder.value(event.response_schema),
        work.at,
        event.expires_at,
    )
    one(work, work.run(INPUT_REQUESTED, (*place, *asks)))
    work.run(CALL_ASKS, (work.standing.id, event.call))
    work.standing.open_requests += 1


def input_answered(work: Work, event: events.InputAnswered) -> None:
    """Take an answer, if the question is open and in time."""
    answer = (event.response_kind, work.folder.value(event.content), event.content_identity, event.receipt)
    where = (UUID(event.input), work.standing.id, work.at)
    if not work.run(INPUT_ANSWERED, (event.by, work.at, *answer, *where)).rowcount:
        raise input_refusal(work, UUID(event.input))
    work.standing.open_requests -= 1


def input_declined(work: Work, event: events.InputDeclined) -> None:
    """Close a question that somebody will not answer."""
    close_input(work, event.input, "declined", event.by)


def input_expired(work: Work, event: events.InputExpired) -> None:
    """Close a question whose time has passed."""
    one(work, work.run(INPUT_EXPIRED, (work.at, UUID(event.input), work.standing.id, work.at)))
    work.standing.open_requests -= 1


def input_cancelled(work: Work, event: events.InputCancelled) -> None:
    """Close a question that is no longer needed."""
    close_input(work, event.input, "cancelled", "")


def close_input(work: Work, request: str, state: str, by: str) -> None:
    """Close an open question without an answer."""
    if not work.run(INPUT_CLOSED, (state, by, work.at, UUID(request), work.standing.id)).rowcount:
        raise input_refusal(work, UUID(request))
    work.standing.open_requests -= 1


def input_refusal(work: Work, request: UUID) -> errors.Refused:
    """Say why an answer did not count."""
    row = work.run(INPUT_NOW, (request, work.standing.id)).fetchone()
    if row is None:
        return errors.NotFound()
    state, by, at = row
    return (
        errors.RequestExpired()
        if state == "pending"
        else errors.AlreadyDecided(state=state, by=by, at_ms=at or 0)
    )


# ------------------------------------------------------------------------------------------------- sessions and counters

SESSION_OPENED: Final = Statement(
    "INSERT INTO journal_session (id, tenant, delivery_id, affinity, opaque_identity, binding, generation, provider, length)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 0) ON CONFLICT DO NOTHING"
)
SESSION_RESTORED: Final = Statement(
    "UPDATE journal_session SET generation = %s, binding = %s"
    " WHERE tenant = %s AND affinity = %s AND opaque_identity = %s AND generation = %s"
)


def session_opened(work: Work, event: events.SessionOpened) -> None:
    """Bind an affinity to its first session."""
    standing = work.standing
    place = (uuid4(), standing.tenant, standing.delivery_id, event.affinity)
    session = (event.opaque_identity, event.binding, event.generation, standing.provider)
    one(work, work.run(SESSION_OPENED, (*place, *session)))
    standing.session, standing.generation = event.opaque_identity, event.generation


def session_restored(work: Work, event: events.SessionRestored) -> None:
    """Begin the next generation of a bound session."""
    standing = work.standing
    session = (standing.tenant, event.affinity, event.opaque_identity, event.generation - 1)
    one(work, work.run(SESSION_RESTORED, (event.generation, event.binding, *session)))
    standing.session, standing.generation = event.opaque_identity, event.generation


def model_responded(work: Work, event: events.ModelResponded) -> None:
    # A turn counts when it has answered: one that was interrupted before is asked again under its number.
    work.standing.model_turns = event.model_turn
    work.standing.tokens += event.usage.get("input", 0) + event.usage.get("output", 0)


def output_produced(work: Work, event: events.OutputProduced) -> None:
    work.standing.output_sequence = event.sequence


# --------------------------------------------------------------------------------------------------------- dispositions


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
    events.SessionOpened: session_opened,
    events.SessionRestored: session_restored,
    events.ModelResponded: model_responded,
    events.OutputProduced: output_produced,
    events.ToolRequested: tool_requested,
    events.ToolIntended: tool_intended,
    events.ToolCompleted: tool_completed,
    events.ApprovalRequested: approval_requested,
    events.ApprovalDecided: approval_decided,
    events.ApprovalExpired: approval_expired,
    events.ApprovalCancelled: approval_cancelled,
    events.ApprovalSuperseded: approval_superseded,
    events.InputRequested: input_requested,
    events.InputAnswered: input_answered,
    events.InputDeclined: input_declined,
    events.InputExpired: input_expired,
    events.InputCancelled: input_cancelled,
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


def apply(work: Work, event: events.Event) -> None:
    """Change what an event changes."""
    if project := PROJECTIONS.get(type(event)):
        project(work, event)


def one(work: Work, result: Result) -> None:
    """Refuse the change unless a statement changed exactly one row."""
    if result.rowcount != 1:
        raise work.conflict()


def plain(text: str) -> str:
    """Return a text that every database can hold. Raises `errors.NotCanonical` for U+0000."""
    if "\x00" in text:
        raise errors.NotCanonical(detail="a name contains U+0000")
    return text
