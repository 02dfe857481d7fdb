"""Deliveries: list, inspect, cancel, retire; each by its `id` or by the identity that its host gave it."""

from typing import Literal

from ninja import Router, Schema

from console.api import wire
from console.api.authentication import Request
from console.api.invocations import Invocation
from console.api.shapes import Instant, Page
from console.api.tombstones import Tombstone
from lifecycle_core.application import deliveries, queries, references, resources

router = Router(tags=["deliveries"])


class Delivery(Schema):
    id: str
    identity: str
    manifest_binding: str
    activation_binding: str
    process: Literal["running", "terminal", "stopped"]
    invocations: list[Invocation]
    created_at: Instant
    requester: str


class Cancel(wire.Body):
    reason: Literal["DELIVERY_CANCELLED", "TIMEOUT", "COORDINATOR_STOP"]
    comment: wire.Prose = ""


class Retire(wire.Body):
    """`authorization` names who allowed it; bindings, where given, must be exactly the delivery's."""

    authorization: wire.Word
    manifest_binding: wire.Word | None = None
    activation_binding: wire.Word | None = None


@router.get("", response=Page[Delivery], summary="List deliveries")
def listed(
    request: Request, text: wire.Text = None, cursor: wire.Cursor = None, limit: wire.Limit = 50
) -> resources.Page[resources.DeliveryItem]:
    return queries.deliveries(request.auth, text=text, cursor=cursor, limit=limit)


@router.get("/{delivery}", response=Delivery, summary="Inspect a delivery")
def shown(request: Request, delivery: str) -> resources.DeliveryItem:
    return queries.delivery(request.auth, references.delivery(request.auth, delivery))


@router.post("/{delivery}/cancel", response=Delivery, summary="Cancel all of a delivery")
def cancel(request: Request, delivery: str, body: Cancel, key: wire.Key = None) -> resources.DeliveryItem:
    return deliveries.cancel(
        request.auth,
        references.delivery(request.auth, delivery),
        reason=body.reason,
        comment=body.comment,
        key=key,
    )


@router.post("/{delivery}/retire", response=Tombstone, summary="Retire a delivery")
def retire(request: Request, delivery: str, body: Retire, key: wire.Key = None) -> resources.TombstoneItem:
    return deliveries.retire(
        request.auth,
        references.delivery(request.auth, delivery),
        authorization=body.authorization,
        manifest_binding=body.manifest_binding,
        activation_binding=body.activation_binding,
        key=key,
    )
