"""Wait for the journal without holding a thread or a connection.

A hint of this process wakes at once; what other processes write is found by looking again every second.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.dispatch import receiver

from lifecycle_core.application import signals

LOOK_AGAIN: Final = 1.0


class Listener:
    """One request that waits for its tenant's journal to advance."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def hint(self) -> None:
        """Wake the request, from any thread; one whose server has stopped needs no waking."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> None:
        """Return when a hint has come since the last wait, or after some seconds."""
        try:
            await asyncio.wait_for(self._event.wait(), min(seconds, LOOK_AGAIN))
        except TimeoutError:
            return
        finally:
            self._event.clear()


listeners: Final[defaultdict[str, set[Listener]]] = defaultdict(set)


@contextmanager
def listening(tenant: str) -> Iterator[Listener]:
    """Take hints from before the first look on, so that nothing falls between look and wait."""
    listener = Listener()
    listeners[tenant].add(listener)
    try:
        yield listener
    finally:
        listeners[tenant].discard(listener)


@receiver(signals.journal_advanced, dispatch_uid="console.api.waiting")
def advanced(sender: Any, tenant: str, **_: Any) -> None:
    """Pass a hint on to all requests that wait in this process."""
    for listener in tuple(listeners.get(tenant, ())):
        listener.hint()
