"""Turn the rows of a timeline into bars: where each begins and how long it is, in thousandths of the whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from console.templatetags import times
from lifecycle_core.application.resources import TimelineRow

WIDTH: Final = 1000
LEAST: Final = 4


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One row with its place in the whole run; `took` is in milliseconds and missing while the row is open."""

    row: TimelineRow
    start: int
    width: int
    took: int | None
    offset: int


def bars(rows: Sequence[TimelineRow], began_at: int, now: int | None = None) -> list[Bar]:
    """Lay rows out between the first start and the last end, or now while something is open."""
    if not rows:
        return []
    moment = times.now_ms() if now is None else now
    first = min(began_at, min(row.started_at for row in rows))
    last = max(moment if row.ended_at is None else row.ended_at for row in rows)
    whole = max(1, last - first)
    return [bar(row, first, whole, moment) for row in rows]


def bar(row: TimelineRow, first: int, whole: int, now: int) -> Bar:
    """Lay one row out."""
    end = now if row.ended_at is None else row.ended_at
    start = min(WIDTH - LEAST, max(0, (row.started_at - first) * WIDTH // whole))
    width = max(LEAST, min(WIDTH - start, (end - row.started_at) * WIDTH // whole))
    took = None if row.ended_at is None else row.ended_at - row.started_at
    return Bar(row=row, start=start, width=width, took=took, offset=max(0, row.started_at - first))


def alone(row: TimelineRow) -> Bar:
    """Lay out a row by itself; the page moves its bar to its place among the others."""
    took = None if row.ended_at is None else row.ended_at - row.started_at
    return Bar(row=row, start=0, width=LEAST, took=took, offset=0)
