"""Approvals as people see them: the exact call, the digest that a decision must name, and what became of it."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import cast
from uuid import UUID

from django.db.models import Q, QuerySet

from lifecycle_core.application.reading import invocations, paging, stored
from lifecycle_core.application.resources import ApprovalItem, ApprovalState, DecisionItem, Page
from lifecycle_core.contract import display, errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal.models import Approval, Decision, ToolCall


def visible(actor: Actor) -> QuerySet[Approval]:
    """Return the approvals of the invocations that an actor may see."""
    return Approval.objects.filter(invocation__in=invocations.visible(actor).values("pk")).select_related(
        "invocation__delivery"
    )


def row(actor: Actor, approval: UUID) -> Approval:
    """Return the row of an approval. Raises `errors.NotFound` also for one that the actor may not see."""
    found = visible(actor).filter(pk=approval).first()
    if found is None:
        raise errors.NotFound
    return found


def approvals(
    actor: Actor,
    *,
    state: str | None = None,
    invocation: UUID | None = None,
    agent: str | None = None,
    tool: str | None = None,
    text: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[ApprovalItem]:
    """Return approvals, newest first; `text` is looked for in the proposed arguments, the tool and the delivery."""
    given = {"state": state, "invocation_id": invocation, "invocation__agent": agent, "tool": tool}
    rows = visible(actor).filter(**{field: value for field, value in given.items() if value})
    if text:
        rows = rows.filter(
            Q(proposed__icontains=text)
            | Q(tool__icontains=text)
            | Q(invocation__delivery__identity__icontains=text)
        )
    return paging.newest_first(rows, "requested_at", cursor, limit, items)


def approval(actor: Actor, approval: UUID) -> ApprovalItem:
    """Return one approval. Raises `errors.NotFound`."""
    return items([row(actor, approval)])[0]


def items(rows: Sequence[Approval]) -> list[ApprovalItem]:
    """Shape rows, with their decisions and results in two queries for all of them."""
    decisions = _decisions(rows)
    calls = _calls(rows)
    return [_item(found, decisions[found.pk], calls.get((found.invocation_id, found.call))) for found in rows]


def _decisions(rows: Sequence[Approval]) -> Mapping[UUID, list[DecisionItem]]:
    deliveries = {found.pk: found.invocation.delivery_id for found in rows}
    made: defaultdict[UUID, list[DecisionItem]] = defaultdict(list)
    for one in Decision.objects.filter(approval_id__in=deliveries).order_by("approval_id", "slot"):
        reason = str(stored.reader(deliveries[one.approval_id])(one.reason))
        made[one.approval_id].append(DecisionItem(by=one.by, at=one.at, decision=one.decision, reason=reason))
    return made


def _calls(rows: Sequence[Approval]) -> Mapping[tuple[UUID, str], ToolCall]:
    wanted = {(found.invocation_id, found.call) for found in rows}
    calls = ToolCall.objects.filter(
        invocation_id__in={invocation for invocation, _ in wanted}, identity__in={call for _, call in wanted}
    )
    return {(call.invocation_id, call.identity): call for call in calls}


def _item(found: Approval, decisions: list[DecisionItem], call: ToolCall | None) -> ApprovalItem:
    read = stored.reader(found.invocation.delivery_id)
    arguments = read(found.arguments)
    preview = read(found.preview)
    return ApprovalItem(
        id=str(found.pk),
        state=cast("ApprovalState", found.state),
        invocation=str(found.invocation_id),
        delivery=found.invocation.delivery.identity,
        agent=found.invocation.agent,
        model=found.invocation.model,
        requester=found.invocation.requester,
        tool=found.tool,
        effect_class=found.effect_class,
        call_id=found.call_id,
        arguments=arguments,
        proposed=read(found.proposed),
        display=display.display_value(arguments),
        preview=preview if isinstance(preview, dict) else None,
        request_digest=found.request_digest,
        rule=found.rule,
        risk=found.risk,
        requested_at=found.requested_at,
        expires_at=found.expires_at,
        claimed_by=found.claimed_by or None,
        decisions=decisions,
        result=_result(found, call, read),
    )


def _result(found: Approval, call: ToolCall | None, read: Callable[[str], Json]) -> Mapping[str, Json] | None:
    """Return what the call of an approval gave; a call that was asked about anew belongs to the newer approval."""
    if call is None or call.outcome is None or found.state == "superseded":
        return None
    return {"outcome": call.outcome, "content": read(call.content)}
