"""How a running turn is stopped from outside, from any thread."""

import threading
from collections.abc import Callable
from typing import Literal

type Reason = Literal["cancelled", "lease-lost", "time-limit", "shutdown"]


class Interruption:
    """Remember why a turn must stop, and stop what blocks it. The first reason stands.

    `deadline_ms` is on the engine's monotonic clock; whoever watches the turn interrupts it then. `token` is the fencing token
    of the lease that the turn takes with its first commit: once another one was given out, or that one was given back, the turn
    is not its worker's any more. Both are there as soon as the invocation is being driven.
    """

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self.deadline_ms: int | None = None
        self.token = 0
        self._stop: Callable[[], None] | None = None
        self._told = threading.Event()

    def __call__(self) -> bool:
        """Tell whether the turn must stop."""
        return self.reason is not None

    def watch(self, stop: Callable[[], None] | None) -> None:
        """Name what frees a blocked read; called at once if the turn must stop already."""
        self._stop = stop
        if stop is not None and self.reason is not None:
            stop()

    def interrupt(self, reason: Reason) -> None:
        """Stop the turn."""
        self.reason = self.reason or reason
        self._told.set()
        stop = self._stop  # the turn may end, and take it away, at any moment
        if stop is not None:
            stop()

    def wait(self, seconds: float) -> bool:
        """Let time pass, none any more once the turn must stop; tell whether it must."""
        return self._told.wait(seconds)
