"""What a fact looks like on the pages that are open: the same for every viewer, so it is rendered once per language."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from django.template.loader import render_to_string
from django.utils import translation

from console.timelines import alone
from lifecycle_core.application.reading import journal
from lifecycle_core.application.resources import FeedFrame, TimelineRow

type Depth = Literal["timeline", "transcript", "journal"]

KEPT: Final = 4096
STATUS_AFTER: Final[Mapping[str, str]] = {
    "invocation.admitted": "starting",
    "session.opened": "running",
    "session.restored": "running",
    "invocation.resumed": "running",
    "turn.suspended": "awaiting-input",
    "invocation.completed": "completed",
    "invocation.failed": "failed",
    "invocation.invalidated": "invalid",
    "invocation.cancelled": "cancelled",
    "invocation.became-unknown": "unknown",
    "unknown.continued": "running",
    "unknown.failed": "failed",
    "unknown.cancelled": "cancelled",
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """A row with its identity in the page: one that is there is replaced, a new one is added at the end."""

    id: str
    html: str


_rendered: OrderedDict[tuple[object, ...], str] = OrderedDict()


def once(key: tuple[object, ...], language: str, render: Callable[[], str]) -> str:
    """Return what was rendered under a key in a language, rendering it the first time."""
    place = (*key, language)
    if place not in _rendered:
        with translation.override(language):
            _rendered[place] = render()
        if len(_rendered) > KEPT:
            _rendered.popitem(last=False)
    return _rendered[place]


def chip(frame: FeedFrame, language: str) -> str:
    """Return the status that an invocation has after a fact, to replace every chip of it; nothing if it stays."""
    status = STATUS_AFTER.get(frame.event.kind)
    if status is None or frame.invocation is None:
        return ""
    context = {"status": status, "invocation_id": frame.invocation}
    return once(
        ("chip", frame.invocation, status), language, lambda: render_to_string("live/chip.html", context)
    )


def fact(frame: FeedFrame, language: str) -> Part:
    """Return the line of the journal."""
    context = {"event": frame.event, "invocation": {"id": frame.invocation}}
    html = once(
        ("fact", frame.invocation, frame.event.hash, frame.event.seq),
        language,
        lambda: render_to_string("invocations/fact.html", context),
    )
    return Part(id=f"fact-{frame.event.seq}", html=html)


def entry(frame: FeedFrame, language: str) -> Part | None:
    """Return what the fact adds to the transcript, if anything."""
    told = journal.entry_of(frame.event)
    if told is None:
        return None
    html = once(
        ("entry", frame.invocation, frame.event.hash, frame.event.seq),
        language,
        lambda: render_to_string("invocations/entry.html", {"entry": told}),
    )
    return Part(id=f"entry-{told.seq}", html=html)


def line(invocation: str, row: TimelineRow, language: str) -> Part:
    """Return a line of the timeline as it is now."""
    html = once(
        ("line", invocation, row),
        language,
        lambda: render_to_string("invocations/bar.html", {"bar": alone(row)}),
    )
    return Part(id=f"line-{row.key}", html=html)
