"""An endpoint on the loopback interface that remembers what was posted to it.

with HttpSink() as sink:
    something posts to sink.url; sink.posts has it
"""

import json
import threading
from collections import deque
from dataclasses import dataclass
from typing import Literal

from lifecycle_core.testing import loopback
from lifecycle_core.testing.answers import Hold

type Mode = Literal["answer", "drop"]


@dataclass(frozen=True, kw_only=True)
class Post:
    path: str
    headers: dict[str, str]
    body: bytes


class HttpSink(loopback.LoopbackServer):
    """Take posts. With mode `drop` the answer never comes although the post counts; a `hold` delays it."""

    def __init__(
        self, *, status: int = 201, mode: Mode = "answer", hold: Hold | None = None, port: int = 0
    ) -> None:
        self.status = status
        self.mode: Mode = mode
        self.hold = hold
        self.posts: deque[Post] = deque(maxlen=1000)
        self.arrived = threading.Event()
        super().__init__(type("Handler", (_Handler,), {"sink": self}), port)

    @property
    def url(self) -> str:
        return f"{self.origin}/status"


class _Handler(loopback.Handler):
    sink: HttpSink

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.sink.posts.append(Post(path=self.path, headers=headers, body=self.body()))
        self.sink.arrived.set()
        if self.sink.hold is not None:
            self.sink.hold.reached.set()
            self.sink.hold.released.wait()
        if self.sink.mode == "drop":
            self.drop()
            return
        body = json.dumps({"received": len(self.sink.posts)}).encode()
        self.reply(self.sink.status, body, {"content-type": "application/json"})
