"""What a session makes of a harness that does what it should not, without a harness: its requests are written down here."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.providers.dsh import mounts, prompts, storage
from lifecycle_core.providers.dsh.bridge import Bridge
from lifecycle_core.providers.dsh.exchange import Broken, Ended, Gone, Inbox, Item, ModelAsked, ToolAsked
from lifecycle_core.providers.dsh.upstream import Heard
from tests.lifecycle_core.providers.dsh.conftest import BEGIN, MODEL, TOOLS, Leaving, needs_harness

pytestmark = needs_harness  # The session's module knows the SDK.

IDENTITY = "session-" + "1" * 32
LOG = b'{"type":"assistant/message","data":{"message":{"content":[]}}}\n'
CALLS = tuple(
    ports.ProposedCall(call_id=id, tool="mcp__lc__send", arguments={"to": id}, problem="")
    for id in ("a", "b")
)
ANSWER = ports.ModelAnswer(text="", reasoning="", calls=CALLS, finish="tool-calls", usage={})

type Fault = Callable[[str], Item]


class Written:
    """A harness that asks for what is written down, and has its one answer in its log."""

    def __init__(self, home: Path, items: Sequence[Item]) -> None:
        self._log = home / mounts.SESSIONS / "x" / IDENTITY / storage.LOG
        self._items = items

    def begin(self, identity: str, text: str, inbox: Inbox) -> None:
        self._log.parent.mkdir(parents=True)
        self._log.write_bytes(LOG)
        for item in self._items:
            inbox.put(item)

    def kill(self) -> None:
        pass

    close = kill


class Upstream:
    def ask(self, body: bytes, secret: str, emit: Callable[[str], None]) -> Heard:
        return Heard(ANSWER, b"", "")

    def interrupt(self) -> None:
        pass


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    route = ports.ModelRoute(model=MODEL, base_url="http://127.0.0.1:1/v1", configuration={})
    made = Bridge(
        ports.SessionRequest(affinity="a", opaque_identity="", route=route, instructions="", tools=TOOLS)
    )
    yield made
    made.close()


def session(home: Path, bridge: Bridge, items: Sequence[Item]) -> Any:
    from lifecycle_core.providers.dsh.session import DshSession

    made: Any = DshSession
    return made(
        IDENTITY,
        home=home,
        harness=Written(home, items),
        bridge=bridge,
        upstream=Upstream(),
        tools=frozenset({"send"}),
        grace_ms=0,
    )


def asked(id: str) -> ToolAsked:
    return ToolAsked("send", {"to": id}, id)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Broken, ports.ProviderFailed),
        (Gone, ports.ProcessExited),
        (Ended, ports.ProviderFailed),
    ],
)
def test_nothing_that_is_reported_holds_the_token_of_the_bridge(
    tmp_path: Path, bridge: Bridge, fault: Fault, kind: type[Any]
) -> None:
    carrier = Leaving()
    session(tmp_path, bridge, [fault(f"{'x' * 480} {bridge.token} and more")]).run(BEGIN, carrier, {})
    (event,) = carrier.events
    assert type(event) is kind
    assert bridge.token[:8] not in event.detail  # type: ignore[union-attr]
    assert "[REDACTED] and more" in event.detail  # type: ignore[union-attr]


@pytest.mark.parametrize(("fault", "kind"), [(Broken, ports.ProviderFailed), (Gone, ports.ProcessExited)])
def test_a_harness_that_goes_wrong_while_its_calls_are_put_off_fails_the_turn(
    tmp_path: Path, bridge: Bridge, fault: Fault, kind: type[Any]
) -> None:
    carrier = Leaving()
    items: list[Item] = [ModelAsked(b""), asked("a"), asked("b"), fault("so it is")]
    session(tmp_path, bridge, items).run(BEGIN, carrier, {})
    (event,) = carrier.events
    assert type(event) is kind
    assert event.detail == "so it is"  # type: ignore[union-attr]


@pytest.mark.parametrize("last", [ModelAsked(b""), Ended()])
def test_a_harness_that_goes_on_with_calls_that_are_put_off_has_its_turn_suspended(
    tmp_path: Path, bridge: Bridge, last: Item
) -> None:
    carrier, calls = Leaving(), (asked("a"), asked("b"))
    with pytest.raises(ports.TurnSuspended):
        session(tmp_path, bridge, [ModelAsked(b""), *calls, last]).run(BEGIN, carrier, {})
    assert carrier.events == []
    assert all(prompts.PUT_OFF.encode()[:20] in call.reply.body for call in calls)


def test_a_turn_that_is_cancelled_while_its_calls_are_put_off_stays_suspended(
    tmp_path: Path, bridge: Bridge
) -> None:
    class Cancelling(Leaving):
        def call_tools(self, *given: Any, **options: Any) -> list[ports.ToolResult]:
            made.cancel()
            return super().call_tools(*given, **options)

    made = session(tmp_path, bridge, [ModelAsked(b""), asked("a")])
    with pytest.raises(ports.TurnSuspended):
        made.run(BEGIN, Cancelling(), {})
