"""What the threads that speak with the harness hand to the thread that runs the turn, and how it answers them.

The carrier belongs to the turn's thread alone; so each request of the harness waits here until that thread has done it.
"""

import queue
import threading
from dataclasses import dataclass, field
from typing import Any


class Reply:
    """The one answer to a request."""

    def __init__(self) -> None:
        self._given = threading.Event()
        self.body = b""

    def give(self, body: bytes) -> None:
        """Answer; the first answer stands."""
        if not self._given.is_set():
            self.body = body
            self._given.set()

    def wait(self, seconds: float) -> bool:
        """Tell whether there is an answer, after waiting for it."""
        return self._given.wait(seconds)


@dataclass(frozen=True, eq=False)
class ModelAsked:
    """The harness wants to ask the model; `body` is what it would send."""

    body: bytes
    reply: Reply = field(default_factory=Reply)


@dataclass(frozen=True, eq=False)
class ToolAsked:
    """The harness wants a call to be run; `id` is that of the JSON-RPC request, not of the call."""

    tool: str
    arguments: dict[str, Any]
    id: Any
    reply: Reply = field(default_factory=Reply)


@dataclass(frozen=True)
class Broken:
    """The harness did what it must not do."""

    detail: str


@dataclass(frozen=True)
class Ended:
    """The native turn is over; `problem` is empty unless it went wrong."""

    problem: str = ""


@dataclass(frozen=True)
class Gone:
    """The process of the harness is not there any more."""

    detail: str


type Item = ModelAsked | ToolAsked | Broken | Ended | Gone
type Inbox = queue.SimpleQueue[Item]
