"""Approvals as people see them: the exact call, the digest that a decision must name, and what became of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast
from uuid import UUID

from django.db.models import Q, QuerySet

from lifecycle_core.application import permissions
from lifecycle_core.application.reading import approval_rows, invocations, paging, stored
from lifecycle_core.application.reading.approval_rows import ApprovalRow
from lifecycle_core.application.resources import ApprovalItem, ApprovalState, DecisionItem, Page
from lifecycle_core.contract import display, errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal.models import Approval


def visible(actor: Actor) -> QuerySet[Approval]:
    """Return the approvals of the invocations that an actor may see."""
    return Approval.objects.filter(invocation__in=invocations.visible(actor).values("pk")).select_related(
        "invocation__delivery"
    )


def row(actor: Actor, approval: UUID) -> ApprovalRow:
    """Return one approval as it is stored. Raises `errors.NotFound` also for one that the actor may not see."""
    permissions.check_can_read(actor)
    found = approval_rows.read([approval]).get(approval)
    if found is None or found.tenant != actor.tenant or not permissions.visible(actor, found.requester):
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
    return _items([row(actor, approval)])[0]


def items(rows: Sequence[Approval]) -> list[ApprovalItem]:
    """Shape approvals, with their decisions and results in two queries for all of them."""
    found = approval_rows.read([each.pk for each in rows])
    return _items([found[each.pk] for each in rows if each.pk in found])


def _items(rows: Sequence[ApprovalRow]) -> list[ApprovalItem]:
    decisions = approval_rows.decisions(rows)
    return [_item(found, decisions.get(found.id, [])) for found in rows]


def _item(found: ApprovalRow, decisions: Sequence[DecisionItem]) -> ApprovalItem:
    read = stored.shown(found.delivery_id)
    arguments = read(found.arguments)
    preview = read(found.preview)
    return ApprovalItem(
        id=str(found.id),
        state=cast("ApprovalState", found.state),
        invocation=str(found.invocation),
        delivery=found.delivery,
        agent=found.agent,
        model=found.model,
        requester=found.requester,
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
        result=_result(found, read),
    )


def _result(found: ApprovalRow, read: Callable[[str], Json]) -> Mapping[str, Json] | None:
    """Return what the call of an approval gave; a call that was asked about anew belongs to the newer approval."""
    if found.outcome is None or found.content is None or found.state == "superseded":
        return None
    return {"outcome": found.outcome, "content": read(found.content)}
