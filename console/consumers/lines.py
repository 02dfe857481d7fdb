"""Keep the timelines that somebody looks at, so that a new fact changes a line without reading the whole journal again."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from console import broadcast
from lifecycle_core.application import queries
from lifecycle_core.application.reading import timeline
from lifecycle_core.application.resources import EventItem, FeedFrame, TimelineRow

KEPT: Final = 64
STRETCH: Final = 1000


class Lines:
    """The lines of one invocation after its fact number `seq`; `recent` says which of them each newer fact changed."""

    def __init__(self) -> None:
        self.rows: timeline.Rows = {}
        self.seq = 0
        self.recent: OrderedDict[int, frozenset[str]] = OrderedDict()

    def apply(self, items: Iterable[EventItem]) -> None:
        """Take the facts that follow, and remember which lines each changed."""
        for item in items:
            if item.seq <= self.seq:
                continue
            before = self.rows.copy()
            change = timeline.APPLY.get(item.kind)
            if change is not None and not item.corrupt:
                change(self.rows, item, item.payload)
            self.recent[item.seq] = frozenset(k for k, row in self.rows.items() if before.get(k) is not row)
            self.seq = item.seq
            if len(self.recent) > STRETCH:
                self.recent.popitem(last=False)

    def changed_by(self, items: Sequence[EventItem]) -> list[TimelineRow]:
        """Return the lines that some facts changed, as they are now; when that is forgotten, all that may have."""
        if all(item.seq in self.recent for item in items):
            keys = frozenset[str]().union(*(self.recent[item.seq] for item in items))
            return [row for key, row in self.rows.items() if key in keys]
        since = min(item.at for item in items)
        return [row for row in self.rows.values() if row.ended_at is None or row.ended_at >= since]


_kept: OrderedDict[tuple[str, str], Lines] = OrderedDict()


async def changed(tenant: str, invocation: str, frames: Sequence[FeedFrame]) -> list[TimelineRow]:
    """Return the lines of an invocation that some frames changed."""
    lines = _kept.setdefault((tenant, invocation), Lines())
    _kept.move_to_end((tenant, invocation))
    if len(_kept) > KEPT:
        _kept.popitem(last=False)
    items = [frame.event for frame in frames]
    if items[0].seq > lines.seq + 1:
        await catch_up(lines, tenant, invocation, items[0].seq)
    lines.apply(items)
    return lines.changed_by(items)


async def catch_up(lines: Lines, tenant: str, invocation: str, until: int) -> None:
    """Read the facts of an invocation that nobody was there to see."""
    reader = broadcast.reader(tenant)
    while lines.seq + 1 < until:
        page = await broadcast.in_reading(
            queries.events, reader, UUID(invocation), after=lines.seq, limit=STRETCH
        )
        if not page.items:
            return
        lines.apply(page.items)
