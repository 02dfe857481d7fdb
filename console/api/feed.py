"""The feed after a cursor: a long poll, or server-sent events where the client asks for them.

The cursor is `epoch` and a position. `resync` says that the cursor is of another epoch or lies ahead: read the lists again
and follow from `head`.
"""

import json
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from django.http import HttpResponse, StreamingHttpResponse
from ninja import Query, Router, Schema

from console.api import following
from console.api.authentication import Request
from console.api.following import Cursor
from console.api.invocations import Event
from lifecycle_core.application import resources
from lifecycle_core.contract.errors import Refused

router = Router(tags=["feed"])

EVENT_STREAM: Final = "text/event-stream"
BOOKMARK_SECONDS: Final = 10


class Frame(Schema):
    """One step; `previous` is the position before it, by which a client proves that it missed nothing."""

    position: int
    previous: int
    gap: bool
    invocation: str | None
    delivery: str | None
    event: Event


class FeedPage(Schema):
    """`next` is the position to go on after; with `resync` read the lists again first."""

    items: list[Frame]
    next: str
    epoch: str
    head: int
    resync: bool


@router.get(
    "",
    response=FeedPage,
    summary="Follow the feed",
    description=f"Waits up to `wait` seconds for news. With `Accept: {EVENT_STREAM}` it never ends.",
)
async def follow(request: Request, cursor: Query[Cursor]) -> Any:
    if EVENT_STREAM in request.headers.get("Accept", ""):
        return await stream(request, cursor)
    return answer(await following.poll(request, cursor), cursor.after)


def answer(page: resources.FeedPage, after: int) -> dict[str, object]:
    """Shape one page of the feed."""
    last = page.frames[-1].position if page.frames else after
    return {
        "items": page.frames,
        "next": str(page.head if page.resync else last),
        "epoch": page.epoch,
        "head": page.head,
        "resync": page.resync,
    }


async def stream(request: Request, cursor: Cursor) -> HttpResponse:
    """Start an event stream; a client that comes back names its place in `Last-Event-ID`."""
    epoch, _, position = request.headers.get("Last-Event-ID", "").rpartition(":")
    if epoch and position.isascii() and position.isdigit() and len(position) < 20:
        cursor = cursor.moved(epoch, int(position))
    first = await following.first(request, cursor)
    response = StreamingHttpResponse(events(request, cursor, first), content_type=EVENT_STREAM)
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response  # type: ignore[return-value]


async def events(request: Request, cursor: Cursor, first: resources.FeedPage) -> AsyncIterator[str]:
    """Write frames as they come, and bookmarks in silence. Ends when the client must resync or has lost its rights."""
    spoke = time.monotonic()
    try:
        async for page in following.pages(request, cursor, first):
            for frame in page.frames:
                yield event("frame", page.epoch, frame.position, Frame.from_orm(frame).model_dump())
            if page.resync:
                yield event("resync", page.epoch, page.head, {"epoch": page.epoch, "head": page.head})
                return
            if not page.frames and time.monotonic() - spoke >= BOOKMARK_SECONDS:
                yield event("bookmark", page.epoch, page.head, {"epoch": page.epoch, "head": page.head})
                spoke = time.monotonic()
            if page.frames:
                spoke = time.monotonic()
    except Refused:
        return


def event(name: str, epoch: str, position: int, value: Mapping[str, Any]) -> str:
    """Write one server-sent event."""
    return f"id: {epoch}:{position}\nevent: {name}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"
