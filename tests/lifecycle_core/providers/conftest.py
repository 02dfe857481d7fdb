"""Chats with a scripted server over a real socket."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.providers.chat_completions import ChatCompletions
from lifecycle_core.testing.answers import Script
from lifecycle_core.testing.carriers import MemoryCarrier
from lifecycle_core.testing.model_server import ModelServer

KEY = "synthetic-key-0123456789"
BEGIN = ports.Begin(purpose="Test it.", input={"n": 1})


class Listening(MemoryCarrier):
    """Keep the failure of the model call as it came."""

    failure: ports.ModelCallFailed | None = None

    def call_model(self, perform: Any, conversation: Any = None) -> ports.ModelAnswer:
        try:
            return super().call_model(perform, conversation)
        except ports.ModelCallFailed as failure:
            self.failure = failure
            raise


@dataclass
class Chat:
    """One agent of one server."""

    provider: ports.Provider
    server: ModelServer

    def request(self, opaque_identity: str = "", messages: tuple[bytes, ...] = ()) -> ports.SessionRequest:
        route = ports.ModelRoute(model="test", base_url=self.server.base_url, configuration={})
        return ports.SessionRequest(
            affinity="",
            instructions="You test.",
            opaque_identity=opaque_identity,
            route=route,
            tools=(),
            messages=messages,
        )

    def open(self) -> ports.NativeSession:
        return self.provider.open(self.request())

    def run(self, carrier: MemoryCarrier | None = None, key: str = KEY) -> MemoryCarrier:
        """Begin a fresh chat and return its carrier."""
        carrier = carrier or MemoryCarrier()
        self.open().run(BEGIN, carrier, {"secret": key} if key else {})
        return carrier

    def answer(self) -> ports.ModelAnswer:
        """Return the one answer of a chat that makes no call."""
        carrier = self.run()
        assert carrier.events == [ports.TurnEnded()]
        return carrier.answers[-1]

    def failure(self, key: str = KEY) -> tuple[str, str]:
        """Return the code of the model call and the whole detail of a chat that fails."""
        (event,) = self.run(key=key).events
        assert isinstance(event, ports.ProviderFailed)
        return event.detail.split(":", 1)[0], event.detail


@pytest.fixture(scope="session")
def provider() -> Iterator[ChatCompletions]:
    provider = ChatCompletions(idle=30)
    yield provider
    provider.dispose()


@pytest.fixture
def chat(provider: ChatCompletions) -> Iterator[Callable[[Script], Chat]]:
    """Return a function that starts a server with a script and gives the chat with it."""
    servers: list[ModelServer] = []

    def start(script: Script) -> Chat:
        servers.append(ModelServer(script, secret=KEY))
        servers[-1].start()
        return Chat(provider, servers[-1])

    yield start
    for server in servers:
        server.close()
