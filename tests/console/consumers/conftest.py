"""Sockets without a server: the application as an ASGI server would call it, over the world of the API's tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.test import Client

from console import broadcast
from console.asgi import application
from tests.console.api.conftest import Api, api, model, world

__all__ = ["api", "model", "world"]

ORIGIN: Final = "http://localhost"
WITHIN: Final = 5.0

type Headers = list[tuple[bytes, bytes]]


@pytest.fixture(autouse=True)
def known(api: Api) -> None:
    """Make the tokens before a loop runs: they are made when they are first asked for."""
    for who in ("viewer", "host", "owner", "viewer@elsewhere"):
        assert api.bearers[who]


class Closed(Exception):
    """The server has closed the socket."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


class Socket:
    """The client's end."""

    def __init__(self, path: str, headers: Headers, extra: dict[str, Any]) -> None:
        given = [(b"host", b"localhost"), (b"origin", ORIGIN.encode()), *headers]
        scope = {"type": "websocket", "path": path, "query_string": b"", "headers": given, **extra}
        self.ends = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]

    async def open(self) -> None:
        """Shake hands. Raises `Closed` where the server refuses."""
        await self.ends.send_input({"type": "websocket.connect"})  # type: ignore[no-untyped-call]
        answer = await self.ends.receive_output(WITHIN)  # type: ignore[no-untyped-call]
        if answer["type"] != "websocket.accept":
            raise Closed(answer.get("code", 403))

    async def send(self, frame: object) -> None:
        """Send a frame as JSON, or a text as it is."""
        text = frame if isinstance(frame, str) else json.dumps(frame)
        await self.ends.send_input({"type": "websocket.receive", "text": text})  # type: ignore[no-untyped-call]

    async def frame(self, within: float = WITHIN) -> Any:
        """Return the next frame. Raises `Closed`."""
        answer = await self.ends.receive_output(within)  # type: ignore[no-untyped-call]
        if answer["type"] == "websocket.close":
            raise Closed(answer["code"])
        return json.loads(answer["text"])

    async def closing(self, within: float = WITHIN) -> int:
        """Read on until the server closes; return its code."""
        while True:
            try:
                await self.frame(within)
            except Closed as closed:
                return closed.code

    async def until(self, position: int) -> list[Any]:
        """Return the frames up to a position of the feed, without bookmarks."""
        frames: list[Any] = []
        while not frames or frames[-1]["position"] < position:
            frame = await self.frame()
            if frame["type"] != "bookmark":
                frames.append(frame)
            elif frame["position"] >= position:
                break
        return frames


def bearer(token: str) -> Headers:
    return [(b"authorization", f"Bearer {token}".encode())]


def cookie(client: Client) -> Headers:
    name = settings.SESSION_COOKIE_NAME
    return [(b"cookie", f"{name}={client.cookies[name].value}".encode())]


@asynccontextmanager
async def opened(path: str, headers: Headers, **extra: Any) -> AsyncIterator[Socket]:
    """Open a socket, and leave it as a browser does that goes away."""
    socket = Socket(path, headers, extra)
    try:
        await socket.open()
        yield socket
    finally:
        await socket.ends.send_input({"type": "websocket.disconnect", "code": 1001})  # type: ignore[no-untyped-call]
        socket.ends.stop(exceptions=False)  # type: ignore[no-untyped-call]


type Play = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture
def play() -> Iterator[Play]:
    """Run a scene on a loop of its own, and give back what the sockets held."""

    def run(scene: Callable[[], Awaitable[None]]) -> None:
        async def all_of_it() -> None:
            await scene()

        asyncio.run(all_of_it())

    yield run
    broadcast.stop()
