"""The feed after a cursor: a long poll, or server-sent events where the client asks for them.

The cursor is `epoch` and a position. `resync` says that the cursor is of another epoch or lies ahead: read the lists again
and follow from `head`.
"""

import json
import time
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Final
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router, Schema

from console.api import waiting
from console.api.authentication import Bearer, Request, Session
from console.api.invocations import Event
from lifecycle_core.application import feed, resources
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.errors import Refused, Unauthenticated

router = Router(tags=["feed"])

EVENT_STREAM: Final = "text/event-stream"
LARGEST: Final = 2**53 - 1
BOOKMARK_SECONDS: Final = 15


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


class Cursor(Schema):
    """Where a client stands. Without `epoch` the position is taken as one of the present epoch."""

    epoch: Annotated[str | None, Query(None, max_length=64)] = None
    after: Annotated[int, Query(0, ge=0, le=LARGEST)] = 0
    limit: Annotated[int, Query(500, ge=1, le=1000)] = 500
    wait: Annotated[float, Query(0, ge=0, le=30, description="seconds")] = 0
    invocation: UUID | None = None


@router.get(
    "",
    response=FeedPage,
    summary="Follow the feed",
    description=f"Waits up to `wait` seconds for news. With `Accept: {EVENT_STREAM}` it never ends.",
)
async def follow(request: Request, cursor: Query[Cursor]) -> Any:
    if EVENT_STREAM in request.headers.get("Accept", ""):
        return await stream(request, cursor)
    until = time.monotonic() + cursor.wait
    with waiting.listening(request.auth.tenant) as listener:
        while True:
            page = await look(request, cursor)
            left = until - time.monotonic()
            if page.frames or page.resync or left <= 0:
                return answer(page, cursor.after)
            await listener.wait(left)


async def stream(request: Request, cursor: Cursor) -> HttpResponse:
    """Start an event stream; a client that comes back names its place in `Last-Event-ID`."""
    epoch, _, position = request.headers.get("Last-Event-ID", "").rpartition(":")
    if epoch and position.isascii() and position.isdigit():
        cursor = cursor.model_copy(update={"epoch": epoch, "after": min(int(position), LARGEST)})
    first = await look(request, cursor)
    response = StreamingHttpResponse(events(request, cursor, first), content_type=EVENT_STREAM)
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response  # type: ignore[return-value]


async def events(request: Request, cursor: Cursor, page: resources.FeedPage) -> AsyncIterator[str]:
    """Write frames as they come, and bookmarks while none do. Ends when the client must resync or lost its rights."""
    quiet_since = time.monotonic()
    with waiting.listening(request.auth.tenant) as listener:
        while True:
            for frame in page.frames:
                yield event("frame", f"{page.epoch}:{frame.position}", Frame.from_orm(frame).model_dump())
            if page.resync:
                yield event("resync", f"{page.epoch}:{page.head}", {"epoch": page.epoch, "head": page.head})
                return
            if page.frames:
                cursor = cursor.model_copy(update={"epoch": page.epoch, "after": page.frames[-1].position})
                quiet_since = time.monotonic()
            else:
                if time.monotonic() - quiet_since >= BOOKMARK_SECONDS:
                    yield event("bookmark", f"{page.epoch}:{page.head}", {"head": page.head})
                    quiet_since = time.monotonic()
                await listener.wait(waiting.LOOK_AGAIN)
            try:
                page = await look(request, cursor)
            except Refused:
                return


def event(name: str, identity: str, value: Mapping[str, Any]) -> str:
    """Write one server-sent event."""
    return f"id: {identity}\nevent: {name}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"


def answer(page: resources.FeedPage, after: int) -> dict[str, object]:
    """Shape one page of the feed."""
    following = page.frames[-1].position if page.frames else after
    return {
        "items": page.frames,
        "next": str(page.head if page.resync else following),
        "epoch": page.epoch,
        "head": page.head,
        "resync": page.resync,
    }


@sync_to_async
def look(request: HttpRequest, cursor: Cursor) -> resources.FeedPage:
    """Read what is new for whoever asks, by his rights as they are now, and give the connection back."""
    try:
        return feed.read(
            rights(request), cursor.epoch, cursor.after, limit=cursor.limit, invocation=cursor.invocation
        )
    finally:
        if not connection.in_atomic_block:
            connection.close()


def rights(request: HttpRequest) -> Actor:
    """Find out again who asks: a token may be revoked and a person signed out while they wait. Raises `Unauthenticated`."""
    actor = Bearer()(request) or Session()(request)
    if actor is None:
        raise Unauthenticated
    return actor
