"""Find what waits: invocations for a worker, requests for their expiry."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from lifecycle_core.contract.status import Status
from lifecycle_core.journal.projections.sessions import LEFT
from lifecycle_core.journal.sql import Run, Statement, as_uuid

COLUMNS: Final = "id, tenant, token, status, created_at"
TENANT: Final = "(%s = '' OR tenant = %s)"
# A session is held by one invocation, until that one has ended and left it; the eldest that waits for it is the next.
IS_NEXT: Final = (
    "(status <> 'starting' OR NOT EXISTS (SELECT 1 FROM journal_session AS s JOIN journal_invocation AS h ON h.id = s.holder"  # noqa: S608
    f" WHERE s.tenant = i.tenant AND s.affinity = i.affinity AND s.holder <> i.id AND NOT ({LEFT}))"
    " AND NOT EXISTS (SELECT 1 FROM journal_invocation AS elder"
    " WHERE elder.tenant = i.tenant AND elder.affinity = i.affinity AND elder.status = 'starting'"
    " AND elder.created_at <= i.created_at AND (elder.created_at < i.created_at OR elder.id < i.id)))"
)
# The conditions of partial indexes are written as those are: SQLite recognises them by the letter.
CLAIMABLE: Final = Statement(
    f"SELECT {COLUMNS} FROM journal_invocation AS i WHERE ready = TRUE AND {TENANT} AND {IS_NEXT}"  # noqa: S608
    f" UNION ALL SELECT {COLUMNS} FROM journal_invocation WHERE status IN ('running', 'starting')"
    f" AND lease_expires_at > 0 AND lease_expires_at <= %s AND {TENANT}"
    " ORDER BY created_at LIMIT %s"
)
# An invocation of which nobody knows how it ended keeps its requests, and they keep waiting for whoever resolves it.
OF_LIVE: Final = (
    "invocation_id IN (SELECT id FROM journal_invocation WHERE status IN ('running', 'awaiting-input'))"
)
EXPIRED: Final = Statement(
    "SELECT 'approval', id, invocation_id, call, expires_at FROM journal_approval"  # noqa: S608
    f" WHERE state = 'pending' AND expires_at > 0 AND expires_at <= %s AND {OF_LIVE}"
    " UNION ALL SELECT 'input', id, invocation_id, call, expires_at FROM journal_inputrequest"
    f" WHERE state = 'pending' AND expires_at > 0 AND expires_at <= %s AND {OF_LIVE}"
    " ORDER BY expires_at LIMIT %s"
)


@dataclass(frozen=True, kw_only=True)
class Claimable:
    """An invocation that waits for a worker; `token` is what a claim must name as `seen_token`."""

    invocation: UUID
    tenant: str
    token: int
    status: Status


@dataclass(frozen=True, kw_only=True)
class Expired:
    """An open request whose time has passed; `kind` is approval or input."""

    kind: str
    id: UUID
    invocation: UUID
    call: str
    expires_at: int


def claimable(run: Run, now_ms: int, limit: int, tenant: str | None) -> list[Claimable]:
    """Return invocations with something to do and no live lease, longest waiting first."""
    only = tenant or ""
    rows = run(CLAIMABLE, (only, only, now_ms, now_ms, only, only, limit)).fetchall()
    return [
        Claimable(invocation=as_uuid(identity), tenant=owner, token=token, status=Status(status))
        for identity, owner, token, status, _ in rows
    ]


def expired(run: Run, now_ms: int, limit: int) -> list[Expired]:
    """Return open requests whose time has passed, the oldest first."""
    return [
        Expired(kind=kind, id=as_uuid(request), invocation=as_uuid(invocation), call=call, expires_at=at)
        for kind, request, invocation, call, at in run(EXPIRED, (now_ms, now_ms, limit)).fetchall()
    ]
