"""What both sockets do: say where the client stands, catch up from there, wait for a hint, catch up again.

The client's first frame is `{"cursor": {"epoch": "…", "position": n}}`, or `{"cursor": null}` to begin at the head. Sockets are
read-only: whatever else a client sends closes it.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any, Final

from channels.generic.websocket import AsyncWebsocketConsumer

from console import broadcast
from console.broadcast import Tail
from console.consumers import pressure, visitors
from lifecycle_core.application import feed
from lifecycle_core.application.resources import FeedFrame
from lifecycle_core.contract.errors import Refused

BOOKMARK_EVERY: Final = 10.0
FIRST_FRAME_WITHIN: Final = 10.0
OLDEST: Final = 12 * 3600.0
LARGEST_FRAME: Final = 4096
LARGEST_POSITION: Final = 2**53 - 1
FULL: Final = 256 * 1024
DRAINED_WITHIN: Final = 5.0

BAD_FRAME: Final = 4400
SIGNED_OUT: Final = 4401
NOT_ALLOWED: Final = 4403
SLOW: Final = 4408
TOO_OLD: Final = 4410


class Closing(Exception):
    """End the socket with a code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class FollowingSocket(AsyncWebsocketConsumer):
    """Follow a tenant's feed from the client's cursor on. A subclass says what a stretch of frames looks like."""

    visitor: visitors.Visitor
    epoch: str
    position: int

    async def connect(self) -> None:
        """Let in whoever is signed in or has a token; refuse the others before or after the handshake."""
        self._task: asyncio.Task[None] | None = None
        self._first: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        try:
            self.visitor = await visitors.of(self.scope)
        except Refused:
            await self.refuse()
            return
        await self.accept()
        visitors.doorkeeper().admit(self.visitor)
        self._task = asyncio.get_running_loop().create_task(self._live())

    async def refuse(self) -> None:
        """Turn away whoever nobody knows."""
        await self.close()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take the first frame; there is no second."""
        if self._first.done():
            await self.close(BAD_FRAME, "this socket is read-only")
            return
        first = parsed(text_data)
        if first is None:
            await self.close(BAD_FRAME, "the first frame names a cursor")
        else:
            self._first.set_result(first)

    async def disconnect(self, code: int) -> None:
        """Leave no task and no visitor behind."""
        if self._task is not None:
            self._task.cancel()
            visitors.doorkeeper().release(self.visitor)

    async def _live(self) -> None:
        """Follow until the client leaves, the visitor has to go, or the socket is too old or too slow."""
        following = asyncio.get_running_loop().create_task(self._follow())
        gone = asyncio.get_running_loop().create_task(self.visitor.gone.wait())
        try:
            done, _ = await asyncio.wait(
                {following, gone}, timeout=OLDEST, return_when=asyncio.FIRST_COMPLETED
            )
            if gone in done:
                await self.close(SIGNED_OUT, "signed out, or rights have changed")
            elif following in done:
                following.result()
            else:
                await self.close(TOO_OLD, "connect again from the cursor")
        except Closing as closing:
            await self.close(closing.code, closing.reason)
        except Refused as refused:
            await self.close(NOT_ALLOWED, refused.code)
        finally:
            following.cancel()
            gone.cancel()

    async def _follow(self) -> None:
        try:
            first = await asyncio.wait_for(self._first, FIRST_FRAME_WITHIN)
        except TimeoutError:
            raise Closing(BAD_FRAME, "the first frame names a cursor") from None
        async with broadcast.following(self.visitor.actor.tenant) as tail:
            await self.begin(first, tail)
            said = time.monotonic()
            while True:
                frames = await self._next(tail)
                if frames:
                    await self.deliver(frames, tail)
                    said = time.monotonic()
                elif time.monotonic() - said >= BOOKMARK_EVERY:
                    await self.bookmark(tail)
                    said = time.monotonic()
                if self.position == tail.position:
                    await tail.news(BOOKMARK_EVERY)

    async def begin(self, first: dict[str, Any], tail: Tail) -> None:
        """Take the client's cursor, or tell it to read its lists again."""
        cursor = first["cursor"] or {"epoch": tail.epoch, "position": tail.position}
        self.epoch, self.position = cursor["epoch"], cursor["position"]
        if not self._is_valid(tail):
            await self._resync(tail)
        await self.bookmark(tail)

    def _is_valid(self, tail: Tail) -> bool:
        ours = self.epoch == tail.epoch or (not self.epoch and self.position == 0)
        return ours and self.position <= tail.position

    async def _resync(self, tail: Tail) -> None:
        self.epoch, self.position = tail.epoch, tail.position
        await self.send_json({"type": "resync", "epoch": self.epoch, "position": self.position})

    async def _next(self, tail: Tail) -> Sequence[FeedFrame]:
        """Return what follows, from memory or, when that does not reach back so far, from the database."""
        if self.epoch != tail.epoch:
            if self.epoch:
                await self._resync(tail)
            self.epoch = tail.epoch
        frames = tail.since(self.position)
        if frames is not None:
            return frames[: broadcast.STRETCH]
        reader = broadcast.reader(self.visitor.actor.tenant)
        page = await broadcast.in_reading(
            feed.read, reader, self.epoch or None, self.position, broadcast.STRETCH
        )
        if page.resync:
            await self._resync(tail)
        return page.frames

    async def deliver(self, frames: Sequence[FeedFrame], tail: Tail) -> None:
        """Send a stretch of frames and move `position` on."""
        raise NotImplementedError

    async def bookmark(self, tail: Tail) -> None:
        """Say where the client stands, so that silence means something."""
        await self.send_json(
            {
                "type": "bookmark",
                "epoch": self.epoch,
                "previous": self.position,
                "position": self.position,
                "head": tail.position,
            }
        )

    async def send_json(self, value: dict[str, Any]) -> None:
        """Send one frame."""
        await self.send_text(dumped(value))

    async def send_text(self, text: str) -> None:
        """Send one frame as it is written, unless the peer does not take what it was sent."""
        await self.send(text)
        if pressure.of(self.scope) > FULL:
            await self._drain()

    async def _drain(self) -> None:
        """Wait until the peer has taken what waits for it, but not for long."""
        until = time.monotonic() + DRAINED_WITHIN
        while pressure.of(self.scope) > FULL // 2:
            if time.monotonic() > until:
                raise Closing(SLOW, "read faster, and connect again from the cursor")
            await asyncio.sleep(0.05)


def dumped(value: dict[str, Any]) -> str:
    """Write a frame."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parsed(text: str | None) -> dict[str, Any] | None:
    """Read a client's first frame; nothing when it is none."""
    if text is None or len(text) > LARGEST_FRAME:
        return None
    try:
        first = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return first if isinstance(first, dict) and "cursor" in first and is_cursor(first["cursor"]) else None


def is_cursor(cursor: object) -> bool:
    """Tell whether a value names a place in the feed, or leaves it open."""
    match cursor:
        case None:
            return True
        case {"epoch": str(), "position": int(position)}:
            return not isinstance(position, bool) and 0 <= position <= LARGEST_POSITION
    return False
