"""Whole turns in the real harness: what the model is asked, what is run, and how a turn is left and taken up again."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.providers.dsh import batch, bridge, prompts, provider, storage
from lifecycle_core.testing.answers import Answer, Call, Reply, Script
from lifecycle_core.testing.carriers import Act
from lifecycle_core.testing.chat_requests import ChatRequest
from tests.lifecycle_core.providers.dsh.conftest import (
    KEY,
    MODEL,
    TOOLS,
    UNPACKED,
    Desk,
    Leaving,
    needs_harness,
)

pytestmark = needs_harness

type Start = Callable[[Script], Desk]

LOOK, SEND = Call(tool="look", arguments={"n": 1}), Call(tool="send", arguments={"to": "you"})
ENVIRONMENT = {
    "ADMITTED_INSTRUCTIONS",
    "BRIDGE_URL",
    "DEEPSEEK_API_KEY",
    "DEEPSEEK_BASE_URL",
    "DSH_HOME",
    "HOME",
    "PKG_NATIVE_CACHE_PATH",
}
# What the harness takes for variables, in a text where nothing is one.
LITERAL = " You test {{model}}, {{ that }} and ${this}.\r\n\n"
DONE = Answer(text="Done.", calls=(Call(tool="workflow_complete", arguments={"result": {"ok": True}}),))


def looks_and_sends(request: ChatRequest) -> Reply:
    return DONE if request.calls() else Answer(text="I act.", calls=(LOOK, SEND))


def bodies(desk: Desk) -> list[dict[str, Any]]:
    return [json.loads(received.body) for received in desk.server.received]


def results(body: Mapping[str, Any]) -> dict[str, str]:
    """Return what the model was told of its calls, by the id of each."""
    blocks = [block for message in body["messages"] for block in message["content"]]
    told = [block for block in blocks if block["type"] == "tool_result"]
    return {block["tool_use_id"]: block["content"][0]["text"] for block in told}


def test_a_turn_asks_acts_and_completes_and_the_secret_goes_to_the_model_alone(
    desk: Start, folder: Path
) -> None:
    ran: list[Json] = []

    def look(arguments: dict[str, Json]) -> Json:
        ran.append(arguments)
        return "seen"

    started = desk(looks_and_sends)
    session = started.open(instructions=LITERAL)
    process = Path(f"/proc/{session._harness.client._proc.pid}")  # type: ignore[attr-defined]
    started_with = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
    begin = ports.Begin(purpose="Test it.", input={"n": "{{model}}"})
    tools: dict[str, Act] = {"look": look, "send": lambda arguments: {"sent": 1}}
    carrier = started.run(session, begin, carrier=Leaving(tools))
    assert carrier.completion == {"ok": True}
    assert carrier.events == []
    assert (carrier.text, ran) == ("I act.Done.", [{"n": 1}])
    assert carrier.grace_ms == 1234
    first, second = bodies(started)
    assert first["system"] == LITERAL
    assert first["messages"][0]["content"][0]["text"] == 'Test it.\n\nInput:\n{"n":"{{model}}"}'
    offered = {tool["name"]: tool["input_schema"] for tool in first["tools"]}
    assert offered == {f"mcp__lc__{spec.name}": spec.input_schema for spec in TOOLS}
    assert results(second) == {"call_2_0": "seen", "call_2_1": '{"sent":1}'}
    assert {(body["model"], body["stream"]) for body in (first, second)} == {(MODEL, True)}
    for received in started.server.received:
        assert received.headers["x-api-key"] == KEY
        assert not [name for name in received.headers if "harness" in name or name == "user-agent"]
        assert KEY.encode() not in received.body
    assert KEY.encode() not in started_with
    assert {line.split(b"=")[0].decode() for line in started_with.split(b"\0") if b"=" in line} == ENVIRONMENT
    home = storage.Storage(folder).home("default", started.affinity)
    assert not [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_call_that_waits_leaves_the_turn_and_its_outcome_is_told_when_it_goes_on(
    desk: Start, folder: Path
) -> None:
    def asks(request: ChatRequest) -> Reply:
        sent = request.last("send")
        if sent is None:
            return Answer(text="I act.", calls=(LOOK, SEND))
        return Answer(calls=(Call(tool="workflow_complete", arguments={"result": {"sent": sent.result}}),))

    started = desk(asks)
    session = started.open()
    carrier = started.run(session, carrier=Leaving({"look": lambda arguments: "seen"}))
    assert isinstance(carrier.left, ports.TurnSuspended)
    assert carrier.events == []
    assert [call.tool for call in carrier.waiting.values()] == ["send"]
    carrier.settle("call_2_1", {"sent": True})
    # Another provider, as after a restart of the console.
    again = provider.DshHeadless(provider.Configuration(storage=folder, unpacked=UNPACKED, grace_ms=0))
    resumed = Desk(again, started.server, started.affinity)
    later = resumed.run(resumed.restore(session.opaque_identity), carrier.resume())
    again.dispose()
    assert later.completion == {"sent": {"sent": True}}
    first, second = bodies(started)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert set(results(second).values()) == {prompts.PUT_OFF}
    response = json.loads(second["messages"][-1]["content"][-1]["text"])
    assert response == {
        "kind": "interaction-response",
        "results": [
            {"call": "call_2_0", "tool": "look", "outcome": "executed", "content": "seen"},
            {"call": "call_2_1", "tool": "send", "outcome": "executed", "content": '{"sent":true}'},
        ],
    }


def test_a_later_episode_begins_in_the_same_session(desk: Start) -> None:
    started = desk(lambda request: DONE)
    session = started.open()
    started.run(session)
    again = started.restore(session.opaque_identity)
    assert again.opaque_identity == session.opaque_identity
    carrier = started.run(again, ports.Begin(purpose="More.", input={"n": 2}))
    assert carrier.completion == {"ok": True}
    assert bodies(started)[1]["messages"][-1]["content"][-1]["text"] == 'More.\n\nInput:\n{"n":2}'
    assert results(bodies(started)[1]) == {"call_2_0": "accepted"}


def test_only_results_of_calls_that_the_session_holds_are_told(desk: Start) -> None:
    def script(request: ChatRequest) -> Reply:
        return Answer(text="So.", reasoning="A thought.") if len(request.messages) < 3 else DONE

    started = desk(script)
    session = started.open()
    carrier = started.run(session)
    assert carrier.events == [ports.TurnEnded()]
    assert (carrier.answers[0].text, carrier.answers[0].reasoning) == ("So.", "A thought.")
    foreign = ports.ToolResult(call_id="call_x", outcome="executed", content="1", ok=True)
    carrier = started.run(started.restore(session.opaque_identity), ports.Resume(results=(foreign,)))
    (event,) = carrier.events
    assert isinstance(event, ports.ProviderUncertain)
    assert len(started.server.received) == 1
    # The control: without any result an interrupted turn just goes on.
    carrier = started.run(started.restore(session.opaque_identity), ports.Resume())
    assert carrier.completion == {"ok": True}
    assert bodies(started)[1]["messages"][-1]["content"][-1]["text"] == prompts.GO_ON


def test_every_call_has_a_result_of_its_own_and_what_nobody_offered_reaches_nothing(desk: Start) -> None:
    ran: list[Json] = []
    count = iter(range(10))

    def fails(arguments: dict[str, Json]) -> Json:
        raise ports.ToolError("NOT_FOUND", "there is none")

    foreign = (Call(tool="bash", arguments={"command": "ls"}), Call(tool="mcp__lc__nothing", arguments={}))

    def script(request: ChatRequest) -> Reply:
        made = len(request.calls())
        return {0: Answer(calls=foreign), 2: Answer(calls=(LOOK, foreign[0], LOOK, SEND))}.get(made, DONE)

    started = desk(script)
    tools = {
        "look": lambda arguments: f"look {next(count)}",
        "send": fails,
        "bash": ran.append,
        "mcp__lc__nothing": ran.append,
    }
    carrier = started.run(started.open(), carrier=Leaving(tools))
    assert carrier.completion == {"ok": True}
    assert ran == []
    assert [(call.tool, call.arguments) for call in carrier.answers[0].calls] == [
        ("bash", None),
        ("mcp__lc__nothing", None),
    ]
    told = list(results(bodies(started)[2]).values())
    assert ["unknown tool" in text for text in told] == [True, True, False, True, False, False]
    assert (told[2], told[4]) == ("look 0", "look 1")
    assert "NOT_FOUND" in told[5]


@pytest.mark.parametrize(
    ("called", "offered", "told"),
    [
        ("workflow_request_input", False, ("workflow_request_input", {"prompt": "?"})),
        ("mcp__lc__workflow_request_input", False, ("workflow_request_input", {"prompt": "?"})),
        ("mcp__lc__workflow_request_input", True, ("workflow_request_input", {"prompt": "?"})),
        ("workflow_request_input", True, ("workflow_request_input", None)),
        ("mcp__lc__bash", False, ("mcp__lc__bash", None)),
    ],
)
def test_a_question_is_told_where_none_was_offered_and_nothing_else(
    called: str, offered: bool, told: tuple[str, Json]
) -> None:
    call = ports.ProposedCall(call_id="c", tool=called, arguments={"prompt": "?"})
    answer = ports.ModelAnswer(text="", reasoning="", calls=(call,), finish="tool-calls", usage={})
    tools = {"look", "workflow_request_input"} if offered else {"look"}
    (ours,) = batch.ours(answer, frozenset(tools)).calls
    assert (ours.tool, ours.arguments) == told


def test_a_session_of_another_affinity_or_a_forgotten_one_is_not_found(desk: Start, folder: Path) -> None:
    native = storage.Storage(folder)
    started = desk(lambda request: DONE)
    session = started.open()
    started.run(session)
    with pytest.raises(LookupError):
        started.headless.restore(started.request(session.opaque_identity, affinity="another"))
    with pytest.raises(LookupError):
        started.restore("session-" + "0" * 32)
    with pytest.raises(LookupError):
        started.restore("../" + session.opaque_identity)
    with pytest.raises(LookupError):
        started.headless.restore(started.request(session.opaque_identity, tenant="another"))
    native.forget("default", "another")
    native.forget("another", started.affinity)
    native.keep_only([("default", started.affinity)])
    log = storage.log(native.home("default", started.affinity), session.opaque_identity)
    whole = log.read_text()
    log.write_text("{")
    with pytest.raises(LookupError):
        started.restore(session.opaque_identity)
    log.write_text(whole)
    native.keep_only([("another", started.affinity)])
    native.forget("default", started.affinity)
    with pytest.raises(LookupError):
        started.restore(session.opaque_identity)


def test_a_long_wait_keeps_both_connections_busy(desk: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    pings = threading.Semaphore(0)
    chunk = bridge._Handler._chunk

    def counted(handler: bridge._Handler, data: bytes) -> None:
        chunk(handler, data)
        if data in (bridge.PING, bridge.COMMENT):
            pings.release()

    def waits(*_: object) -> str:
        assert all(pings.acquire(timeout=10) for _ in range(3))
        return "seen"

    def script(request: ChatRequest) -> Reply:
        waits()
        return DONE if request.calls() else Answer(calls=(LOOK,))

    monkeypatch.setattr(bridge._Handler, "_chunk", counted)
    monkeypatch.setattr(bridge, "KEEP_BUSY_SECONDS", 0.01)
    started = desk(script)
    assert started.run(started.open(), carrier=Leaving({"look": waits})).completion == {"ok": True}
