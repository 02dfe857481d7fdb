"""Follow each tenant's feed once per process, for all the sockets that look at it.

A tail keeps the newest stretch of the feed in memory and nothing per socket: whoever falls behind reads what it lacks from the
database in its own time, so that a slow socket costs the others nothing. A commit of this process wakes the tail at once; what
other processes commit is found by looking again every second.
"""

import asyncio
import bisect
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from django.db import close_old_connections, connections
from django.dispatch import receiver

from lifecycle_core.application import feed, signals
from lifecycle_core.application.resources import FeedFrame, FeedPage
from lifecycle_core.contract import events
from lifecycle_core.contract.actor import Actor, Permission

log = logging.getLogger(__name__)

LOOK_AGAIN: Final = 1.0
STRETCH: Final = 500
KEPT: Final = 2048
RETIRED: Final = events.DeliveryRetired.kind


class Tail:
    """The newest stretch of one tenant's feed: `epoch`, the last `position`, and the frames that led there."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.epoch = ""
        self.position = 0
        self.followers = 0
        self._frames: list[FeedFrame] = []
        self._floor = 0
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(), name=f"broadcast {tenant}")
        self.ready = asyncio.Event()

    def hint(self) -> None:
        """Say from any thread that there is something to read."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake.set)

    def since(self, position: int) -> Sequence[FeedFrame] | None:
        """Return the frames after a position, or nothing when they reach back further than is kept here."""
        if not self._floor <= position <= self.position:
            return None
        start = bisect.bisect_right(self._frames, position, key=lambda frame: frame.position)
        return self._frames[start:]

    async def news(self, seconds: float) -> None:
        """Return when the tail has moved on, or after some seconds."""
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return

    def stop(self) -> None:
        """End the following."""
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._advance()
                pause = LOOK_AGAIN
            except Exception:
                log.exception("the feed of %s cannot be read; trying again", self.tenant)
                pause = 2 * LOOK_AGAIN
            try:
                await asyncio.wait_for(self._wake.wait(), pause)
            except TimeoutError:
                continue

    async def _advance(self) -> None:
        """Read on until nothing follows."""
        if not self.ready.is_set():
            self.epoch, self.position = await in_tail(feed.head, reader(self.tenant))
            self._floor = self.position
            self.ready.set()
        while True:
            self._wake.clear()
            page = await in_tail(feed.read, reader(self.tenant), self.epoch or None, self.position, STRETCH)
            if page.resync:
                self._begin_anew(page)
            elif page.frames:
                self._append(page)
            else:
                self.epoch = page.epoch
                return

    def _append(self, page: FeedPage) -> None:
        self.epoch = page.epoch
        self._frames.extend(page.frames)
        self.position = page.frames[-1].position
        if len(self._frames) > KEPT:
            dropped = self._frames[: len(self._frames) - KEPT // 2]
            self._floor = dropped[-1].position
            self._frames = self._frames[len(dropped) :]
        if any(frame.event.kind == RETIRED for frame in page.frames):
            # Whoever is behind must hear of gaps, as the database tells it, and not of what was retired.
            self._floor, self._frames = self.position, []
        self._tell()

    def _begin_anew(self, page: FeedPage) -> None:
        """Follow another epoch: its frames have nothing to do with those that are kept."""
        self.epoch, self.position, self._floor, self._frames = page.epoch, page.head, page.head, []
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


_tails: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Tail]] = WeakKeyDictionary()


@asynccontextmanager
async def following(tenant: str) -> AsyncIterator[Tail]:
    """Follow a tenant's feed together with everybody else who does."""
    tails = _tails.setdefault(asyncio.get_running_loop(), {})
    tail = tails.get(tenant)
    if tail is None:
        tail = tails[tenant] = Tail(tenant)
    tail.followers += 1
    try:
        await tail.ready.wait()
        yield tail
    finally:
        tail.followers -= 1
        if not tail.followers:
            tail.stop()
            del tails[tenant]


@receiver(signals.journal_advanced, dispatch_uid="console.broadcast")
def advanced(sender: Any, tenant: str, **_: Any) -> None:
    """Pass a hint on to the tails of a tenant; it may come from any thread."""
    for tails in list(_tails.values()):
        tail = tails.get(tenant)
        if tail is not None:
            tail.hint()


def reader(tenant: str) -> Actor:
    """Return the actor that reads a feed for all; who gets what is decided for each socket."""
    return Actor(tenant=tenant, name="system:broadcast", permissions=frozenset({Permission.READ}))


# Database work beside the loop: a thread for the tails, one for whoever comes in, and one for everybody who catches up, each
# with one connection. Nobody waits at the door because somebody reads a long journal.


class Desk:
    """One thread that talks to the database for the loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pool: ThreadPoolExecutor | None = None

    async def run[**P, T](self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the thread."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name)
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, lambda: self._call(lambda: function(*args, **kwargs))
        )

    def close(self) -> None:
        """Give the connection back and end the thread."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.submit(connections.close_all)
            pool.shutdown(wait=True)

    @staticmethod
    def _call[T](function: Callable[[], T]) -> T:
        close_old_connections()
        return function()


_tail_desk = Desk("broadcast-tail")
_door_desk = Desk("broadcast-door")
_reading_desk = Desk("broadcast-reading")
in_tail = _tail_desk.run
at_door = _door_desk.run
in_reading = _reading_desk.run


def stop() -> None:
    """Give back what the following holds, when the server has ended."""
    for desk in (_tail_desk, _door_desk, _reading_desk):
        desk.close()
