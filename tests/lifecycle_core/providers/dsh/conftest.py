"""The real harness against a scripted model, both as processes and sockets of this machine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lifecycle_core.contract import digests, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import EffectClass
from lifecycle_core.providers.dsh import provider, release
from lifecycle_core.testing.answers import Script
from lifecycle_core.testing.carriers import MemoryCarrier
from lifecycle_core.testing.model_server import ModelServer

KEY = "synthetic-key-0123456789"
MODEL = "deepseek-chat"
BEGIN = ports.Begin(purpose="Test it.", input={"n": 1})
OBJECT: dict[str, Json] = {"type": "object"}

# What the runtime unpacks of itself, once for all tests.
UNPACKED = Path(__file__).parents[4] / "test-output" / "harness"

needs_harness = pytest.mark.skipif(
    not release.is_installed(), reason="the extra dsh is not installed: uv sync --extra dsh"
)


def spec(name: str, **properties: Json) -> ports.ToolSpec:
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    return ports.ToolSpec(
        name=name,
        family="test",
        description=f"Do {name}.",
        input_schema=schema,
        effect_class=EffectClass.READ_ONLY,
        schema_digest=digests.digest(schema),
    )


TOOLS = (
    spec("send", to={"type": "string"}),
    spec("look", n={"type": "integer"}),
    spec("workflow_complete", result=OBJECT),
)


class Leaving(MemoryCarrier):
    """A carrier that remembers how the turn was left."""

    left: BaseException | None = None
    grace_ms = 0

    def call_tools(self, calls: Sequence[ports.ProposedCall], *, grace_ms: int = 0) -> list[ports.ToolResult]:
        self.grace_ms = max(grace_ms, self.grace_ms)
        return super().call_tools(calls, grace_ms=grace_ms)


class Desk:
    """One agent of one server, on the harness."""

    def __init__(self, headless: ports.Provider, server: ModelServer, affinity: str) -> None:
        self.headless = headless
        self.server = server
        self.affinity = affinity

    def request(self, opaque_identity: str = "", **given: Any) -> ports.SessionRequest:
        route = ports.ModelRoute(model=MODEL, base_url=self.server.base_url, configuration={})
        fields: dict[str, Any] = {
            "tenant": "default",
            "affinity": self.affinity,
            "instructions": "You test.",
            "opaque_identity": opaque_identity,
            "route": route,
            "tools": TOOLS,
        }
        return ports.SessionRequest(**(fields | given))

    def open(self, **given: Any) -> ports.NativeSession:
        return self.headless.open(self.request(**given))

    def restore(self, identity: str) -> ports.NativeSession:
        return self.headless.restore(self.request(identity))

    def run(
        self,
        session: ports.NativeSession,
        turn: ports.TurnInput = BEGIN,
        carrier: Leaving | None = None,
        material: Mapping[str, str] | None = None,
    ) -> Leaving:
        """Run a turn, however it is left."""
        carrier = carrier or Leaving()
        try:
            session.run(turn, carrier, {"secret": KEY} if material is None else material)
        except (ports.TurnSuspended, ports.TurnInterrupted) as left:
            carrier.left = left
        finally:
            session.dispose()
        return carrier


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dsh")


@pytest.fixture(scope="session")
def headless(folder: Path) -> Iterator[provider.DshHeadless]:
    made = provider.DshHeadless(provider.Configuration(storage=folder, unpacked=UNPACKED, grace_ms=1234))
    yield made
    made.dispose()


@pytest.fixture
def desk(
    headless: provider.DshHeadless, request: pytest.FixtureRequest
) -> Iterator[Callable[[Script], Desk]]:
    """Return a function that starts a model server with a script and gives an agent that asks it."""
    servers: list[ModelServer] = []

    def start(script: Script) -> Desk:
        servers.append(ModelServer(script, secret=KEY))
        servers[-1].start()
        return Desk(headless, servers[-1], f"affinity of {request.node.name}")

    yield start
    for server in servers:
        server.close()
