"""Invocations as they stand."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from lifecycle_core.application import permissions
from lifecycle_core.application.reading import paging, receipts, stored
from lifecycle_core.application.resources import InvocationItem, OpenRequest, Page
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.status import Status
from lifecycle_core.journal.models import Approval, InputRequest, Invocation


def visible(actor: Actor) -> QuerySet[Invocation]:
    """Return the invocations that an actor may see."""
    rows = Invocation.objects.filter(tenant=actor.tenant).select_related("delivery", "dispatched")
    requester = permissions.requester_filter(actor)
    return rows if requester is None else rows.filter(requester=requester)


def row(actor: Actor, invocation: UUID) -> Invocation:
    """Return the row of an invocation. Raises `errors.NotFound` also for one that the actor may not see."""
    found = visible(actor).filter(pk=invocation).first()
    if found is None:
        raise errors.NotFound
    return found


def invocations(
    actor: Actor,
    *,
    status: str | None = None,
    agent: str | None = None,
    delivery: str | None = None,
    text: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[InvocationItem]:
    """Return invocations, newest first. `delivery` is a delivery's identity; `text` is looked for in names and identities."""
    rows = visible(actor)
    given = {"status": status, "agent": agent, "delivery__identity": delivery}
    rows = rows.filter(**{field: value for field, value in given.items() if value})
    if text:
        rows = rows.filter(
            Q(agent__icontains=text)
            | Q(action__icontains=text)
            | Q(delivery__identity__icontains=text)
            | Q(requester__icontains=text)
        )
    return paging.newest_first(rows, "created_at", cursor, limit, items)


def invocation(actor: Actor, invocation: UUID) -> InvocationItem:
    """Return one invocation. Raises `errors.NotFound`."""
    return items([row(actor, invocation)])[0]


def dispatch(actor: Actor, invocation: UUID) -> dict[str, Any]:
    """Return the dispatch that an invocation was started with, with all its digests."""
    found = row(actor, invocation)
    value = stored.shown(found.delivery_id)(found.dispatch)
    return value if isinstance(value, dict) else {}


def items(rows: Sequence[Invocation]) -> list[InvocationItem]:
    """Shape rows, with their open requests and receipts in three queries for all of them."""
    waiting = _open_requests([found.pk for found in rows])
    given = receipts.of([found.pk for found in rows if found.status == Status.COMPLETED])
    return [_item(found, waiting[found.pk], given[found.pk]) for found in rows]


def _open_requests(invocations: list[UUID]) -> Mapping[UUID, list[OpenRequest]]:
    waiting: defaultdict[UUID, list[OpenRequest]] = defaultdict(list)
    pending = {"invocation_id__in": invocations, "state": "pending"}
    for approval in Approval.objects.filter(**pending).order_by("requested_at", "id"):
        waiting[approval.invocation_id].append(OpenRequest(id=str(approval.pk), kind="approval"))
    for asked in InputRequest.objects.filter(**pending).order_by("requested_at", "id"):
        waiting[asked.invocation_id].append(OpenRequest(id=str(asked.pk), kind="input"))
    return waiting


def _disposition(found: Invocation, given: list[Json]) -> Mapping[str, Json] | None:
    """Return how an invocation ended or paused; a completed one says which answers it got (reference: seed-contracts 3.3)."""
    value = stored.shown(found.delivery_id)(found.disposition) if found.disposition else None
    if not isinstance(value, dict):
        return None
    return value | {"interactionReceipts": given} if value.get("kind") == "completed" else value


def _item(found: Invocation, waiting: list[OpenRequest], given: list[Json]) -> InvocationItem:
    dispatched = stored.shown(found.delivery_id)(found.dispatch)
    value: Json = dispatched.get("input", dispatched) if isinstance(dispatched, dict) else None
    return InvocationItem(
        id=str(found.pk),
        status=found.status,
        agent=found.agent,
        action=found.action,
        provider=found.provider,
        model=found.model,
        delivery=found.delivery.identity,
        delivery_id=str(found.delivery_id),
        attempt=found.attempt,
        parent=str(found.parent) if found.parent else None,
        requester=found.requester,
        open_requests=waiting,
        disposition=_disposition(found, given),
        input=value,
        model_turns=found.model_turns,
        tool_calls=found.tool_calls,
        tokens=found.tokens,
        version=found.version,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )
