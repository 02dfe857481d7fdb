"""`/ws/feed`: the feed as JSON, for programs.

Frames: `event` (with `previous`, so that a client can prove that it missed nothing, and `gap` where facts were
retired), `bookmark` (nothing new; where the feed stands) and `resync` (the cursor is of another epoch or lies ahead:
read the lists again and go on from the position given).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from console import errors as http
from console.broadcast import Tail
from console.consumers.following import FollowingSocket, dumped
from lifecycle_core.application import permissions
from lifecycle_core.application.resources import FeedFrame

KEPT: Final = 2048


class FeedSocket(FollowingSocket):
    """Send every fact of the tenant to those who may read all of them."""

    async def begin(self, first: dict[str, Any], tail: Tail) -> None:
        """Refuse who may not read the whole tenant."""
        permissions.check_can_read_all(self.visitor.actor)
        await super().begin(first, tail)

    async def deliver(self, frames: Sequence[FeedFrame], tail: Tail) -> None:
        """Send each fact as a frame."""
        for frame in frames:
            await self.send_text(written(self.epoch, frame))
            self.position = frame.position
        await asyncio.sleep(0)


_written: Final[OrderedDict[tuple[str, int, int], str]] = OrderedDict()


def written(epoch: str, frame: FeedFrame) -> str:
    """Write a frame as REST does, once for all sockets. An epoch belongs to one tenant."""
    place = (epoch, frame.position, frame.previous)
    if place not in _written:
        event = {**vars(frame.event), "at": http.instant(frame.event.at)}
        _written[place] = dumped({"type": "event", "epoch": epoch, **vars(frame), "event": event})
        if len(_written) > KEPT:
            _written.popitem(last=False)
    return _written[place]
