"""Follow a tenant's feed. A cursor is an epoch and a position; whoever reads on from it misses nothing, or is told so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from lifecycle_core.journal.models import Event, FeedHead


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One step of the feed. `previous` is the position before it; `gap` tells that what lay between was retired."""

    event: Event
    previous: int
    gap: bool
    delivery: str | None


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """What follows a cursor. `resync` tells that the cursor is of another epoch or lies ahead of the head."""

    epoch: str
    frames: Sequence[Frame]
    head: int
    resync: bool = False


def head(tenant: str) -> tuple[str, int]:
    """Return the epoch of a tenant's feed and its last position; a tenant without facts has ("", 0)."""
    row = FeedHead.objects.filter(tenant=tenant).values_list("epoch", "n").first()
    return row or ("", 0)


def read(
    tenant: str, epoch: str | None, after: int, limit: int = 500, *, invocation: UUID | None = None
) -> Stretch:
    """Return up to `limit` frames after a position, of the whole feed or of one invocation."""
    now, last = head(tenant)
    if (epoch and epoch != now) or after > last:
        return Stretch(epoch=now, frames=(), head=last, resync=True)
    rows = Event.objects.filter(tenant=tenant, position__gt=after).select_related("invocation__delivery")
    if invocation is not None:
        rows = rows.filter(invocation=invocation)
    frames = list(_frames(rows.order_by("position")[:limit], after, whole=invocation is None))
    # Frames may be younger than the head that was read before them.
    newest = frames[-1].event.position if frames else 0
    return Stretch(epoch=now, frames=frames, head=max(last, newest))


def _frames(rows: Any, previous: int, *, whole: bool) -> Iterator[Frame]:
    for event in rows:
        delivery = event.invocation.delivery.identity if event.invocation else None
        gap = whole and event.position > previous + 1
        yield Frame(event=event, previous=previous, gap=gap, delivery=delivery)
        previous = event.position
