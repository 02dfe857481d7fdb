"""Approvals: list, show, decide."""

from typing import Any, Literal
from uuid import UUID

from ninja import Router, Schema

from console.api import wire
from console.api.authentication import Request
from console.api.shapes import Display, Instant, Json, Object, Page
from lifecycle_core.application import approvals, queries, resources

router = Router(tags=["approvals"])

type State = Literal[
    "pending", "approved", "edited", "rejected", "responded", "expired", "cancelled", "superseded"
]


class DecisionMade(Schema):
    by: str
    at: Instant
    decision: str
    reason: str


class Approval(Schema):
    id: str
    state: State
    invocation: str
    delivery: str
    agent: str
    model: str
    requester: str
    tool: str
    effect_class: str
    call_id: str
    arguments: Json
    proposed: Json
    display: Display
    preview: Object | None
    request_digest: str
    rule: str
    risk: str
    requested_at: Instant
    expires_at: Instant
    claimed_by: str | None
    decisions: list[DecisionMade]
    result: Object | None


class Decision(wire.Body):
    """An answer to exactly what was shown: `request_digest` says what that was.

    `edit` needs `arguments` (a full replacement), `respond` needs `result` (in the tool's place).
    """

    decision: Literal["approve", "edit", "reject", "respond"]
    request_digest: wire.Digest
    arguments: Any = None
    reason: wire.Prose = ""
    result: Any = None


@router.get("", response=Page[Approval], summary="List approvals")
def listed(
    request: Request,
    state: State | None = None,
    invocation: UUID | None = None,
    agent: wire.Text = None,
    tool: wire.Text = None,
    text: wire.Text = None,
    cursor: wire.Cursor = None,
    limit: wire.Limit = 50,
) -> resources.Page[resources.ApprovalItem]:
    return queries.approvals(
        request.auth,
        state=state,
        invocation=invocation,
        agent=agent,
        tool=tool,
        text=text,
        cursor=cursor,
        limit=limit,
    )


@router.get("/{uuid:approval}", response=Approval, summary="Show an approval")
def shown(request: Request, approval: UUID) -> resources.ApprovalItem:
    return queries.approval(request.auth, approval)


@router.post("/{uuid:approval}/decision", response=Approval, summary="Decide an approval")
def decide(request: Request, approval: UUID, body: Decision, key: wire.Key = None) -> resources.ApprovalItem:
    return approvals.decide(
        request.auth,
        approval,
        decision=body.decision,
        request_digest=body.request_digest,
        reason=body.reason,
        key=key,
        **body.given("arguments", "result"),
    )
