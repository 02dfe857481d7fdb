"""Tool calls: requested, intended, and completed once."""

from typing import Final
from uuid import UUID

from lifecycle_core.contract import errors, events
from lifecycle_core.journal import sql
from lifecycle_core.journal.projections import approvals
from lifecycle_core.journal.sql import Statement
from lifecycle_core.journal.standing import Work

REQUESTED: Final = Statement(
    'INSERT INTO journal_toolcall (invocation_id, identity, call_id, model_turn, "index", tool, effect_class, state,'
    " arguments, proposed, arguments_digest, asked, attempts, edited, bound, effective_digest, expires_at, content)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0, %s, '{}', %s, 0, 'null') ON CONFLICT DO NOTHING"
)
INTENDED: Final = Statement(
    "UPDATE journal_toolcall SET state = 'intended', attempts = attempts + 1"
    " WHERE invocation_id = %s AND identity = %s AND state IN ('requested', 'approved', 'intended')"
    " AND (approval IS NOT NULL OR NOT asked)"
    " RETURNING approval, arguments_digest, effective_digest"
)
UNRESOLVED: Final = Statement(
    "SELECT 1 FROM journal_toolcall WHERE invocation_id = %s AND identity = %s AND state = 'intended'"
)
RUNS_AGAIN: Final = Statement(
    "UPDATE journal_toolcall SET state = CASE WHEN approval IS NULL THEN 'requested' ELSE 'approved' END"
    " WHERE invocation_id = %s AND identity = %s AND state = 'intended'"
)
REWRITTEN: Final = Statement(
    "UPDATE journal_toolcall SET arguments = %s, arguments_digest = %s WHERE invocation_id = %s AND identity = %s"
)
BOUND: Final = Statement("UPDATE journal_toolcall SET bound = %s WHERE invocation_id = %s AND identity = %s")
COMPLETED: Final = Statement(
    "UPDATE journal_toolcall SET state = 'settled', outcome = %s, content = %s"
    " WHERE invocation_id = %s AND identity = %s AND state <> 'settled'"
)
CONSUMED: Final = Statement(
    "UPDATE journal_approval SET consumed_at = %s, consumed_token = %s, consumed_call = %s"
    " WHERE id = %s AND invocation_id = %s AND call = %s AND state IN ('approved', 'edited') AND effective_digest = %s"
    " AND (consumed_at IS NULL OR consumed_call = %s)"
)


def requested(work: Work, event: events.ToolRequested) -> None:
    """Enter a call; one that asks waits."""
    arguments = work.folder.value(event.arguments)
    proposed = arguments if event.proposed is None else work.folder.value(event.proposed)
    asks, digest = event.verdict == "ask", event.arguments_digest
    call = (event.call, sql.plain(event.call_id), event.model_turn, event.index)
    tool = (sql.plain(event.tool), event.effect_class, "waiting" if asks else "requested")
    values = (work.standing.id, *call, *tool, arguments, proposed, digest, asks, False, digest)
    work.one(work.run(REQUESTED, values))
    work.standing.tool_calls += 1


def intended(work: Work, event: events.ToolIntended) -> None:
    """Let a call reach the world; an approved one consumes its approval, and runs what was approved."""
    row = work.run(INTENDED, (work.standing.id, event.call)).fetchone()
    if row is None:
        raise work.conflict()
    approval = UUID(event.approval) if event.approval else None
    if approval != (UUID(str(row[0])) if row[0] else None):
        raise errors.DigestMismatch
    if event.arguments is not None and approval is None:
        arguments = work.folder.value(event.arguments)
        work.run(REWRITTEN, (arguments, event.arguments_digest, work.standing.id, event.call))
    if event.preparation:
        bound = work.folder.value({"preparation": event.preparation})
        work.run(BOUND, (bound, work.standing.id, event.call))
    if approval is not None:
        if event.arguments_digest != row[1]:
            raise errors.DigestMismatch
        consume(work, event, approval, row[2])


def consume(work: Work, event: events.ToolIntended, approval: UUID, digest: str) -> None:
    """Use an approval up: for this call alone, which may come back to it after a crash."""
    used = (work.at, event.token, event.call)
    if work.run(CONSUMED, (*used, approval, work.standing.id, event.call, digest, event.call)).rowcount:
        return
    state, by, at, *_ = approvals.now(work, approval)
    if state in ("approved", "edited"):
        raise errors.DigestMismatch
    raise errors.AlreadyDecided(state=state, by=by, at_ms=at or 0)


def resolved(work: Work, event: events.CallResolved) -> None:
    """Take in what a person found out about a call that was sent; one that did not happen may be sent again."""
    where = (work.standing.id, event.call)
    if event.then == "run":
        work.one(work.run(RUNS_AGAIN, where))
    elif work.run(UNRESOLVED, where).fetchone() is None:
        raise work.conflict()


def completed(work: Work, event: events.ToolCompleted) -> None:
    """Give a call its one result."""
    content = work.folder.value(event.content)
    work.one(work.run(COMPLETED, (event.outcome, content, work.standing.id, event.call)))
