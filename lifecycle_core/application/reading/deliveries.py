"""Deliveries: their invocations with their own statuses, and the aggregate beside them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from django.db.models import QuerySet

from lifecycle_core.application import permissions, steering
from lifecycle_core.application.reading import invocations, paging
from lifecycle_core.application.resources import DeliveryItem, InvocationItem, Page
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.status import Status
from lifecycle_core.journal.models import Delivery


def visible(actor: Actor) -> QuerySet[Delivery]:
    """Return the deliveries that an actor may see."""
    rows = Delivery.objects.filter(tenant=actor.tenant)
    requester = permissions.requester_filter(actor)
    return rows if requester is None else rows.filter(requester=requester)


def row(actor: Actor, delivery: UUID) -> Delivery:
    """Return the row of a delivery. Raises `errors.NotFound` also for one that the actor may not see."""
    found = visible(actor).filter(pk=delivery).first()
    if found is None:
        raise errors.NotFound
    return found


def deliveries(
    actor: Actor, *, text: str | None = None, cursor: str | None = None, limit: int = 50
) -> Page[DeliveryItem]:
    """Return deliveries, newest first; `text` is looked for in the identity."""
    rows = visible(actor)
    if text:
        rows = rows.filter(identity__icontains=text)
    return paging.newest_first(rows, "created_at", cursor, limit, partial(items, actor))


def delivery(actor: Actor, delivery: UUID) -> DeliveryItem:
    """Return one delivery. Raises `errors.NotFound`."""
    return items(actor, [row(actor, delivery)])[0]


def items(actor: Actor, rows: Sequence[Delivery]) -> list[DeliveryItem]:
    """Shape rows, with those of their invocations that the actor may see: another host may have started some of them."""
    belonging = _invocations(actor, [found.pk for found in rows])
    return [_item(found, belonging[str(found.pk)]) for found in rows]


def _invocations(actor: Actor, deliveries: list[UUID]) -> Mapping[str, list[InvocationItem]]:
    belonging: defaultdict[str, list[InvocationItem]] = defaultdict(list)
    rows = invocations.visible(actor).filter(delivery_id__in=deliveries).select_related("dispatched")
    for item in invocations.items(list(rows.order_by("created_at", "id"))):
        belonging[item.delivery_id].append(item)
    return belonging


def _item(found: Delivery, belonging: list[InvocationItem]) -> DeliveryItem:
    return DeliveryItem(
        id=str(found.pk),
        identity=found.identity,
        manifest_binding=found.manifest_binding,
        activation_binding=found.activation_binding,
        process=steering.control().inspect(Status(item.status) for item in belonging),
        invocations=belonging,
        created_at=found.created_at,
        requester=found.requester,
    )
