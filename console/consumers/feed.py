"""`/ws/feed`: the feed as JSON, for programs.

Frames: `event` (with `previous`, so that a client can prove that it missed nothing, and `gap` where facts were
retired), `bookmark` (nothing new; where the feed stands) and `resync` (the cursor is of another epoch or lies ahead:
read the lists again and go on from the position given).
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from console import errors as http
from console.broadcast import Tail
from console.consumers.following import FollowingSocket
from lifecycle_core.application import permissions
from lifecycle_core.application.resources import FeedFrame


class FeedSocket(FollowingSocket):
    """Send every fact of the tenant to those who may read all of them."""

    async def begin(self, first: dict[str, Any], tail: Tail) -> None:
        """Refuse who may not read the whole tenant."""
        permissions.check_can_read_all(self.visitor.actor)
        await super().begin(first, tail)

    async def deliver(self, frames: Sequence[FeedFrame], tail: Tail) -> None:
        """Send each fact as a frame."""
        for frame in frames:
            await self.send_json({"type": "event", "epoch": self.epoch, **shaped(frame)})
            self.position = frame.position
            await asyncio.sleep(0)


def shaped(frame: FeedFrame) -> dict[str, Any]:
    """Write a frame as REST does."""
    event = {**vars(frame.event), "at": http.instant(frame.event.at)}
    return {**vars(frame), "event": event}
