"""Leases: who drives what now."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from lifecycle_core.application import bootstrap
from lifecycle_core.application.reading import invocations
from lifecycle_core.application.resources import LeaseItem
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.events import InvocationClaimed, InvocationResumed
from lifecycle_core.journal.models import Event, Invocation

MOST: Final = 500
TAKING: Final = (InvocationClaimed.kind, InvocationResumed.kind)


def leases(actor: Actor) -> list[LeaseItem]:
    """Return the live leases that an actor may see, the oldest invocations first, at most `MOST` of them."""
    now = bootstrap.clock().now_ms()
    rows = invocations.visible(actor).filter(lease_expires_at__gt=now).exclude(worker="")
    found = list(rows.order_by("created_at", "id")[:MOST])
    since = _since([row.pk for row in found])
    return [_item(row, since.get(row.pk, row.updated_at)) for row in found]


def _since(invocations: Sequence[UUID]) -> Mapping[UUID, int]:
    """Return when each of these invocations was last taken by a worker."""
    taken = Event.objects.filter(invocation_id__in=list(invocations), kind__in=TAKING).order_by("seq")
    return {invocation: at for invocation, at in taken.values_list("invocation_id", "at") if invocation}


def _item(row: Invocation, since: int) -> LeaseItem:
    return LeaseItem(
        invocation=str(row.pk),
        agent=row.agent,
        action=row.action,
        delivery=row.delivery.identity,
        status=row.status,
        worker=row.worker,
        token=row.token,
        since=since,
        expires_at=row.lease_expires_at,
    )
