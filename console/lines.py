"""Keep the timelines that somebody looks at, so that a new fact changes a line without reading the whole journal again.

Who may see an invocation is asked before; what is kept here is the same for everybody who may.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from console import broadcast
from lifecycle_core.application import queries
from lifecycle_core.application.reading import timeline
from lifecycle_core.application.resources import EventItem, TimelineRow

KEPT: Final = 64
STRETCH: Final = 1000


class Lines:
    """The lines of one invocation after its fact number `seq`; `recent` says which of them each newer fact changed."""

    def __init__(self, tenant: str, invocation: str) -> None:
        self.rows: timeline.Rows = {}
        self.seq = 0
        self.recent: OrderedDict[int, frozenset[str]] = OrderedDict()
        self.lock = threading.Lock()
        self._reader = broadcast.reader(tenant)
        self._invocation = UUID(invocation)

    def apply(self, items: Iterable[EventItem]) -> None:
        """Take the facts that follow, and remember which lines each changed."""
        for item in items:
            if item.seq <= self.seq:
                continue
            before = self.rows.copy()
            self._change(item)
            self.recent[item.seq] = frozenset(k for k, row in self.rows.items() if before.get(k) is not row)
            self.seq = item.seq
            if len(self.recent) > STRETCH:
                self.recent.popitem(last=False)

    def read_on(self) -> None:
        """Take the facts that nobody was there to see, without noting what each changed: there may be very many."""
        while page := queries.events(self._reader, self._invocation, after=self.seq, limit=STRETCH).items:
            for item in page:
                self._change(item)
            self.seq = page[-1].seq

    def _change(self, item: EventItem) -> None:
        change = timeline.APPLY.get(item.kind)
        if change is not None and not item.corrupt:
            change(self.rows, item, item.payload)

    def changed_by(self, items: Sequence[EventItem]) -> list[TimelineRow]:
        """Return the lines that some facts changed, as they are now; when that is forgotten, all that may have."""
        if all(item.seq in self.recent for item in items):
            keys = frozenset[str]().union(*(self.recent[item.seq] for item in items))
            return [row for key, row in self.rows.items() if key in keys]
        since = min(item.at for item in items)
        return [row for row in self.rows.values() if row.ended_at is None or row.ended_at >= since]


_kept: OrderedDict[tuple[str, str], Lines] = OrderedDict()
_lock = threading.Lock()


def of(tenant: str, invocation: str) -> Lines:
    """Return what is kept of an invocation's lines, to be used under its lock."""
    with _lock:
        lines = _kept.setdefault((tenant, invocation), Lines(tenant, invocation))
        _kept.move_to_end((tenant, invocation))
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
        return lines


def all_of(tenant: str, invocation: str) -> list[TimelineRow]:
    """Return every line of an invocation as it is now."""
    lines = of(tenant, invocation)
    with lines.lock:
        lines.read_on()
        return list(lines.rows.values())


def changed(tenant: str, invocation: str, items: Sequence[EventItem]) -> list[TimelineRow]:
    """Return the lines of an invocation that some facts changed."""
    lines = of(tenant, invocation)
    with lines.lock:
        if items[0].seq > lines.seq + 1:
            lines.read_on()
        lines.apply(items)
        return lines.changed_by(items)


def forget() -> None:
    """Keep nothing."""
    with _lock:
        _kept.clear()
