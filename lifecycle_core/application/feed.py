"""Follow a tenant's feed from a cursor."""

import json
from uuid import UUID

from lifecycle_core.application import permissions
from lifecycle_core.application.reading import invocations, journal
from lifecycle_core.application.resources import EventItem, FeedFrame, FeedPage
from lifecycle_core.contract.actor import Actor
from lifecycle_core.journal import feed
from lifecycle_core.journal.models import Event


def head(actor: Actor) -> tuple[str, int]:
    """Return the epoch of the tenant's feed and the position of its newest fact."""
    permissions.check_can_read(actor)
    return feed.head(actor.tenant)


def read(
    actor: Actor, epoch: str | None, after: int, limit: int = 500, *, invocation: UUID | None = None
) -> FeedPage:
    """Return what follows a position, of the whole feed or of one invocation.

    Who sees only what he started follows his invocations one by one. Raises `errors.NotFound` for an invocation that the actor
    may not see and `errors.Forbidden` for a whole feed that he may not.
    """
    if invocation is not None:
        invocations.row(actor, invocation)
    else:
        permissions.check_can_read_all(actor)
    found = feed.read(actor.tenant, epoch, max(0, after), max(1, min(limit, 1000)), invocation=invocation)
    return FeedPage(
        epoch=found.epoch,
        frames=[_frame(frame) for frame in found.frames],
        head=found.head,
        resync=found.resync,
    )


def _frame(frame: feed.Frame) -> FeedFrame:
    event = frame.event
    return FeedFrame(
        position=event.position,
        previous=frame.previous,
        gap=frame.gap,
        invocation=str(event.invocation_id) if event.invocation_id else None,
        delivery=frame.delivery,
        event=_item(event),
    )


def _item(event: Event) -> EventItem:
    if event.invocation is not None:
        return journal.item(event.invocation, event)
    return EventItem(
        seq=event.seq,
        position=event.position,
        kind=event.kind,
        at=event.at,
        actor=event.actor,
        payload=json.loads(event.payload),
        hash=event.hash,
    )
