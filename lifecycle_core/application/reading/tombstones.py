"""Tombstones: what is left of retired deliveries."""

import json
from collections.abc import Sequence
from uuid import UUID

from lifecycle_core.application import permissions
from lifecycle_core.application.reading import paging
from lifecycle_core.application.resources import Page, TombstoneItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.journal.models import Tombstone


def tombstones(
    actor: Actor, *, text: str | None = None, cursor: str | None = None, limit: int = 50
) -> Page[TombstoneItem]:
    """Return tombstones, newest first; `text` is looked for in the delivery's identity and the authorization."""
    permissions.check_can_read_all(actor)
    rows = Tombstone.objects.filter(tenant=actor.tenant)
    if text:
        rows = rows.filter(delivery__icontains=text) | rows.filter(authorization__icontains=text)
    return paging.newest_first(rows, "retired_at", cursor, limit, items)


def tombstone(actor: Actor, tombstone: UUID) -> TombstoneItem:
    """Return one tombstone. Raises `errors.NotFound`."""
    permissions.check_can_read_all(actor)
    found = Tombstone.objects.filter(tenant=actor.tenant, pk=tombstone).first()
    if found is None:
        raise errors.NotFound
    return items([found])[0]


def items(rows: Sequence[Tombstone]) -> list[TombstoneItem]:
    """Shape rows."""
    return [
        TombstoneItem(
            id=str(found.pk),
            delivery=found.delivery,
            authorization=found.authorization,
            fact=json.loads(found.fact),
            retired_by=found.retired_by,
            retired_at=found.retired_at,
            invocations=found.invocations,
            events=found.events,
            decisions=json.loads(found.decisions),
            chain_heads=json.loads(found.chain_heads),
        )
        for found in rows
    ]
