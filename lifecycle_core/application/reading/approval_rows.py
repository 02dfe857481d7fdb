"""Approvals as stored, with the call and the decisions of each; written SQL, for deciding is as hot as a transition."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from uuid import UUID

from django.db import connection

from lifecycle_core.application.reading import stored
from lifecycle_core.application.resources import DecisionItem
from lifecycle_core.journal.sql import Run, Statement, as_uuid, runner

COLUMNS: Final = (
    "a.id, a.tenant, a.state, a.invocation_id, i.delivery_id, d.identity, i.agent, i.model, i.requester, i.status,"
    " i.model_turns, a.call, a.call_id, a.tool, a.effect_class, a.arguments, a.proposed, a.preview, a.request_digest,"
    " a.rule, a.risk, a.requested_at, a.expires_at, a.claimed_by, a.closed_by, a.closed_at, c.outcome, c.content"
)


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """One approval, its invocation and its call. Values are as they are stored; `outcome` is that of the call."""

    id: UUID
    tenant: str
    state: str
    invocation: UUID
    delivery_id: UUID
    delivery: str
    agent: str
    model: str
    requester: str
    status: str
    model_turn: int
    call: str
    call_id: str
    tool: str
    effect_class: str
    arguments: str
    proposed: str
    preview: str
    request_digest: str
    rule: str
    risk: str
    requested_at: int
    expires_at: int
    claimed_by: str
    closed_by: str
    closed_at: int | None
    outcome: str | None
    content: str | None


def read(approvals: Sequence[UUID]) -> dict[UUID, ApprovalRow]:
    """Return approvals by their identities, as far as they are there."""
    if not approvals:
        return {}
    found = _run()(_selection(len(approvals)), approvals).fetchall()
    rows = (
        ApprovalRow(as_uuid(identity), tenant, state, as_uuid(invocation), as_uuid(delivery), *rest)
        for identity, tenant, state, invocation, delivery, *rest in found
    )
    return {row.id: row for row in rows}


def decisions(rows: Sequence[ApprovalRow]) -> Mapping[UUID, list[DecisionItem]]:
    """Return what was decided on approvals, by their identities."""
    made: defaultdict[UUID, list[DecisionItem]] = defaultdict(list)
    if not rows:
        return made
    deliveries = {row.id: row.delivery_id for row in rows}
    for approval, by, at, decision, reason in _run()(_decided(len(rows)), list(deliveries)).fetchall():
        identity = as_uuid(approval)
        said = str(stored.shown(deliveries[identity])(reason))
        made[identity].append(DecisionItem(by=by, at=at, decision=decision, reason=said))
    return made


def _run() -> Run:
    return runner(connection)


@cache
def _selection(count: int) -> Statement:
    return Statement(
        f"SELECT {COLUMNS} FROM journal_approval AS a JOIN journal_invocation AS i ON i.id = a.invocation_id"  # noqa: S608
        " JOIN journal_delivery AS d ON d.id = i.delivery_id"
        " LEFT JOIN journal_toolcall AS c ON c.invocation_id = a.invocation_id AND c.identity = a.call"
        f" WHERE a.id IN ({', '.join(['%s'] * count)})"
    )


@cache
def _decided(count: int) -> Statement:
    return Statement(
        'SELECT approval_id, "by", at, decision, reason FROM journal_decision'  # noqa: S608
        f" WHERE approval_id IN ({', '.join(['%s'] * count)}) ORDER BY approval_id, slot"
    )
