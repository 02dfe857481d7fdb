"""Look at the feed for one client, again and again, by the rights that it has at that moment.

The first look is made in the request's own thread, which gives its connection back. Whoever waits after it keeps nothing busy:
all wait for the same tail, and look again in the one thread that is there for those who catch up.
"""

import time
from collections.abc import AsyncIterator
from typing import Annotated, Final
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connection
from ninja import Query, Schema

from console import broadcast
from console.api.authentication import Bearer, Request, Session
from lifecycle_core.application import feed
from lifecycle_core.application.resources import FeedPage
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.errors import Unauthenticated

LARGEST: Final = 2**53 - 1
ASK_AGAIN_SECONDS: Final = 5.0  # so long may somebody wait in silence who has lost the right to


class Cursor(Schema):
    """Where a client stands. Without `epoch` the position is taken as one of the present epoch."""

    epoch: Annotated[str | None, Query(None, max_length=64)] = None
    after: Annotated[int, Query(0, ge=0, le=LARGEST)] = 0
    limit: Annotated[int, Query(500, ge=1, le=1000)] = 500
    wait: Annotated[float, Query(0, ge=0, le=30, description="seconds")] = 0
    invocation: UUID | None = None

    def moved(self, epoch: str, after: int) -> "Cursor":
        """Return the cursor further on."""
        return self.model_copy(update={"epoch": epoch, "after": min(after, LARGEST)})


async def first(request: Request, cursor: Cursor) -> FeedPage:
    """Look once, and give the connection back. Raises what the feed refuses."""
    return await sync_to_async(_look_and_let_go)(request, cursor)


async def poll(request: Request, cursor: Cursor) -> FeedPage:
    """Return the first page with something in it, or an empty one after `cursor.wait` seconds."""
    page = await first(request, cursor)
    until = time.monotonic() + cursor.wait
    if _says_something(page) or not cursor.wait:
        return page
    async with broadcast.following(request.auth.tenant) as tail:
        while not _says_something(page) and (left := until - time.monotonic()) > 0:
            if tail.position <= page.head:
                await tail.news(min(left, ASK_AGAIN_SECONDS))
            page = await broadcast.in_reading(look, request, cursor)
    return page


async def pages(request: Request, cursor: Cursor, page: FeedPage) -> AsyncIterator[FeedPage]:
    """Yield a page and all that follow it for ever, an empty one in silence. Raises what the feed refuses."""
    async with broadcast.following(request.auth.tenant) as tail:
        while True:
            yield page
            if page.frames:
                cursor = cursor.moved(page.epoch, page.frames[-1].position)
            elif tail.position <= page.head:
                await tail.news(ASK_AGAIN_SECONDS)
            page = await broadcast.in_reading(look, request, cursor)


def look(request: Request, cursor: Cursor) -> FeedPage:
    """Read what is new for whoever asks."""
    return feed.read(
        rights(request), cursor.epoch, cursor.after, limit=cursor.limit, invocation=cursor.invocation
    )


def rights(request: Request) -> Actor:
    """Find out again who asks: a token may be revoked and a person signed out meanwhile. Raises `Unauthenticated`."""
    if actor := Bearer()(request):
        return actor
    key = request.session.session_key
    actor = Session()(request) if key and request.session.exists(key) else None
    if actor is None:
        raise Unauthenticated
    return actor


def _look_and_let_go(request: Request, cursor: Cursor) -> FeedPage:
    try:
        return look(request, cursor)
    finally:
        if not connection.in_atomic_block:
            connection.close()


def _says_something(page: FeedPage) -> bool:
    return bool(page.frames) or page.resync
