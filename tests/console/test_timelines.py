"""Bars: their place in the whole run."""

from console import timelines
from lifecycle_core.application.resources import TimelineRow


def row(start: int, end: int | None) -> TimelineRow:
    return TimelineRow(
        key=str(start),
        seq=1,
        kind="tool",
        label="x",
        state="running",
        started_at=start,
        ended_at=end,
        refers="",
    )


def test_bars_share_the_whole_width() -> None:
    first, second = timelines.bars([row(0, 500), row(500, 1000)], began_at=0)
    assert (first.start, first.width, second.start, second.width) == (0, 500, 500, 500)


def test_an_open_bar_reaches_to_now() -> None:
    (bar,) = timelines.bars([row(0, None)], began_at=0, now=1000)
    assert (bar.start, bar.width, bar.took) == (0, 1000, None)


def test_a_short_bar_is_still_seen_and_none_sticks_out() -> None:
    for bar in timelines.bars([row(0, 0), row(999_999, 1_000_000)], began_at=0):
        assert bar.width >= timelines.LEAST
        assert bar.start + bar.width <= timelines.WIDTH


def test_no_rows_make_no_bars() -> None:
    assert timelines.bars([], began_at=0) == []
