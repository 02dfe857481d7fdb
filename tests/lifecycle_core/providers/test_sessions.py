"""A chat goes on from what was kept, whatever happened between."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lifecycle_core.contract import digests, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.providers.chat_completions import ChatCompletions
from lifecycle_core.providers.in_process import InProcessProvider
from lifecycle_core.testing import answers
from lifecycle_core.testing.answers import Answer, Call, Hold, Reply, Script, Stream
from lifecycle_core.testing.carriers import MemoryCarrier
from lifecycle_core.testing.chat_requests import ChatRequest
from tests.lifecycle_core.providers.conftest import BEGIN, KEY, Chat

type Start = Callable[[Script], Chat]

MATERIAL = {"secret": KEY}


def two_calls(request: ChatRequest) -> Reply:
    """Call `auto` and `ask` at once, then say what they gave."""
    results = [str(done.result) for done in request.calls()]
    if results:
        return Answer(text="I got " + " and ".join(results))
    return Answer(
        text="I look.", calls=(Call(tool="auto", arguments={"a": 1.50}), Call(tool="ask", arguments={}))
    )


def suspended(started: Chat) -> tuple[MemoryCarrier, str]:
    """Run a fresh chat until it waits; return its carrier and identity."""
    carrier = MemoryCarrier({"auto": lambda arguments: "one"})
    session = started.open()
    with pytest.raises(ports.TurnSuspended):
        session.run(BEGIN, carrier, MATERIAL)
    session.dispose()
    return carrier, session.opaque_identity


def restored(started: Chat, identity: str, kept: Sequence[bytes]) -> ports.NativeSession:
    return started.provider.restore(started.request(identity, tuple(kept)))


@pytest.fixture(params=["wire", "in process"])
def talk(request: pytest.FixtureRequest, chat: Start) -> Start:
    """Start a chat over the wire, or the same chat without one."""

    def start(script: Script) -> Chat:
        started = chat(script)
        if request.param == "wire":
            return started
        return replace(started, provider=InProcessProvider(answers.in_process(script)))

    return start


def test_a_call_that_waits_suspends_and_its_result_goes_on_from_there(talk: Start) -> None:
    started = talk(two_calls)
    first, identity = suspended(started)
    assert len(first.kept) == 3
    first.settle(next(iter(first.waiting)), "two")
    second = MemoryCarrier()
    restored(started, identity, first.kept).run(first.resume(), second, MATERIAL)
    assert second.answers[0].text == "I got one and two"
    assert [json.loads(body)["role"] for body in second.kept] == ["tool", "tool", "assistant"]
    assert second.events == [ports.TurnEnded()]


def test_a_restored_chat_sends_the_bytes_of_the_first_as_they_were(chat: Start) -> None:
    started = chat(two_calls)
    first, identity = suspended(started)
    first.settle(next(iter(first.waiting)), "two")
    other = ChatCompletions()
    restored(replace(started, provider=other), identity, first.kept).run(
        first.resume(), MemoryCarrier(), MATERIAL
    )
    other.dispose()
    before, after = (received.body for received in started.server.received)
    assert before.endswith(b"]}")
    assert after.startswith(before[:-2])
    assert b",".join(first.kept) in after


def test_arguments_go_back_as_the_model_wrote_them(chat: Start) -> None:
    carrier, _ = suspended(chat(two_calls))
    assert json.loads(carrier.kept[2])["tool_calls"][0]["function"]["arguments"] == '{"a": 1.5}'


def test_arguments_that_were_rewritten_on_the_way_go_back_rewritten(chat: Start) -> None:
    class Rewriting(MemoryCarrier):
        def call_model(self, perform: Any, conversation: Any = None) -> ports.ModelAnswer:
            answer = super().call_model(perform, conversation)
            return replace(answer, calls=tuple(replace(call, arguments={"b": True}) for call in answer.calls))

    carrier = Rewriting()
    with pytest.raises(ports.TurnSuspended):
        chat(two_calls).run(carrier)
    assert json.loads(carrier.kept[2])["tool_calls"][0]["function"]["arguments"] == '{"b":true}'


def test_kept_messages_are_canonical_and_text_is_never_null(chat: Start) -> None:
    carrier = MemoryCarrier()
    with pytest.raises(ports.TurnSuspended):
        chat(lambda request: Answer(reasoning="hm", calls=(Call(tool="t", arguments={}),))).run(carrier)
    assert all(digests.canonical(digests.parse(body)) == body for body in carrier.kept)
    message = json.loads(carrier.kept[2])
    assert (message["content"], message["reasoning_content"]) == ("", "hm")


def test_an_empty_result_is_said_to_be_one(chat: Start) -> None:
    carrier = MemoryCarrier({"auto": lambda arguments: "", "ask": lambda arguments: ""})
    chat(two_calls).run(carrier)
    assert [json.loads(body)["content"] for body in carrier.kept[3:5]] == ["(no output)", "(no output)"]


def test_results_that_the_chat_holds_already_are_not_told_twice(talk: Start) -> None:
    started = talk(two_calls)
    first, identity = suspended(started)
    first.settle(next(iter(first.waiting)), "two")
    results = first.resume()
    session = restored(started, identity, first.kept)
    held = MemoryCarrier()
    session.run(results, held, MATERIAL)
    second = MemoryCarrier()
    restored(started, identity, [*first.kept, held.kept[0]]).run(results, second, MATERIAL)
    assert second.kept == held.kept[1:]


def test_a_model_turn_that_was_interrupted_is_asked_again(talk: Start) -> None:
    started = talk(lambda request: Answer(text="hi"))
    whole = started.run()
    session = started.open()
    second = MemoryCarrier()
    restored(started, session.opaque_identity, whole.kept[:2]).run(ports.Resume(), second, MATERIAL)
    assert second.kept == whole.kept[2:]


def test_a_turn_that_was_over_is_not_asked_again(chat: Start) -> None:
    started = chat(lambda request: Answer(text="hi"))
    whole = started.run()
    second = MemoryCarrier()
    restored(started, started.open().opaque_identity, whole.kept).run(ports.Resume(), second, MATERIAL)
    assert second.events == [ports.TurnEnded()]
    assert not second.kept
    assert len(started.server.received) == 1


def test_a_result_that_is_missing_breaks_the_chat_before_anything_is_asked(chat: Start) -> None:
    started = chat(two_calls)
    first, identity = suspended(started)
    second = MemoryCarrier()
    restored(started, identity, first.kept).run(ports.Resume(), second, MATERIAL)
    (event,) = second.events
    assert isinstance(event, ports.ProviderFailed)
    assert event.code == "PROVIDER_PROTOCOL_ERROR"
    assert len(started.server.received) == 1


def test_a_later_episode_of_a_chat_answers_the_calls_that_the_earlier_one_left(talk: Start) -> None:
    def script(request: ChatRequest) -> Reply:
        calls = (Call(tool="workflow_complete", arguments={"result": {"n": request.input["n"]}}),)
        return Answer(calls=(Call(tool="left", arguments={}), *calls))

    started = talk(script)
    first = MemoryCarrier()
    session = started.open()
    with pytest.raises(ports.TurnSuspended):
        session.run(BEGIN, first, MATERIAL)
    second = MemoryCarrier()
    again = replace(BEGIN, input={"n": 2})
    with pytest.raises(ports.TurnSuspended):
        restored(started, session.opaque_identity, first.kept).run(again, second, MATERIAL)
    assert second.completion == {"n": 2}
    roles = [json.loads(body)["role"] for body in second.kept]
    assert roles == ["tool", "tool", "user", "assistant"]
    assert json.loads(second.kept[1])["content"] == "accepted"


@pytest.mark.parametrize(
    "calls",
    [
        (Call(tool="safe", arguments={}, id="dup"), Call(tool="danger", arguments={}, id="dup")),
        (Call(tool="safe", arguments={}, id=""),),
        (Call(tool="", arguments={}),),
    ],
)
def test_calls_that_cannot_be_told_apart_end_the_turn_before_any_runs(
    talk: Start, calls: tuple[Call, ...]
) -> None:
    ran: list[Json] = []

    def act(arguments: Json) -> Json:
        ran.append(arguments)
        return ""

    carrier = MemoryCarrier(dict.fromkeys(("safe", "danger", ""), act))
    talk(lambda request: Answer(text="done") if request.calls() else Answer(calls=calls)).run(carrier)
    (event,) = carrier.events
    assert isinstance(event, ports.ProviderFailed)
    assert event.code == "PROVIDER_PROTOCOL_ERROR"
    assert not ran
    assert len(carrier.kept) == 2


def test_a_completed_turn_is_left_by_the_carrier(talk: Start) -> None:
    carrier = MemoryCarrier()
    with pytest.raises(ports.TurnInterrupted):
        talk(lambda request: Answer(calls=(Call(tool="workflow_complete", arguments={"result": 1}),))).run(
            carrier
        )
    assert carrier.completion == 1
    assert len(carrier.answers) == 1


@pytest.mark.parametrize(
    ("identity", "messages"),
    [
        ("chat-" + "0" * 32, ()),
        ("chat-x", (b'{"content":"","role":"system"}',)),
        ("", (b'{"content":"","role":"system"}',)),
        ("chat-" + "0" * 32, (b'{"content":"","role":"user"}',)),
        ("chat-" + "0" * 32, (b"no JSON",)),
        ("chat-" + "0" * 32, (b'{"content":"","role":"system"}', b'{"role":"stranger"}')),
    ],
)
def test_what_is_no_kept_chat_cannot_be_restored(
    chat: Start, identity: str, messages: tuple[bytes, ...]
) -> None:
    started = chat(two_calls)
    with pytest.raises(LookupError):
        restored(started, identity, messages)


def test_the_steps_of_chats_share_one_connection(chat: Start) -> None:
    started = chat(two_calls)
    for _ in range(3):
        started.run(MemoryCarrier({"auto": lambda arguments: "1", "ask": lambda arguments: "2"}))
    assert len(started.server.received) == 6
    assert len({received.connection for received in started.server.received}) == 1


def test_an_answer_whose_stream_stays_open_is_taken_all_the_same(chat: Start) -> None:
    hold = Hold()
    events = [answers.event(answers.chunk({"content": "hi"}, "stop")), answers.DONE]
    started = chat(lambda request: Stream([*events, hold]))
    before = time.monotonic()
    assert started.answer().text == "hi"
    assert time.monotonic() - before < 10  # and not the idle limit of the provider
    hold.released.set()
    started.server.script = lambda request: Answer(text="again")
    assert started.answer().text == "again"
    assert len({received.connection for received in started.server.received}) == 2


def test_the_tools_of_a_session_are_offered_and_admitted_settings_are_sent(chat: Start) -> None:
    started = chat(lambda request: Answer(text="hi"))
    spec = ports.ToolSpec(
        name="t",
        family="f",
        description="does",
        input_schema={"type": "object"},
        effect_class=ports.EffectClass.UNSAFE,
        schema_digest="",
    )
    request = started.request()
    route = replace(request.route, configuration={"temperature": 0.5, "max_tokens": 9})
    started.provider.open(replace(request, tools=(spec,), route=route)).run(BEGIN, MemoryCarrier(), MATERIAL)
    body = json.loads(started.server.received[0].body)
    function = {"name": "t", "description": "does", "parameters": {"type": "object"}}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert (body["temperature"], body["max_tokens"]) == (0.5, 9)


def test_a_turn_that_is_left_while_text_comes_leaves_the_provider_usable(chat: Start) -> None:
    class Leaving(MemoryCarrier):
        def _say(self, text: str) -> None:
            raise ports.TurnInterrupted

    started = chat(lambda request: Answer(text="hi"))
    with pytest.raises(ports.TurnInterrupted):
        started.run(Leaving())
    assert started.answer().text == "hi"


def test_a_script_that_repeats_itself_ends_as_it_was_told(talk: Start) -> None:
    calls = (Call(tool="auto", arguments={}), Call(tool="auto", arguments={}))
    carrier = MemoryCarrier({"auto": lambda arguments: "x"})
    talk(answers.repeating(Answer(calls=calls), 3, Answer(text="done"))).run(carrier)
    assert [len(answer.calls) for answer in carrier.answers] == [2, 2, 2, 0]


def test_a_provider_is_disposed_of_as_often_as_one_likes() -> None:
    for provider in (ChatCompletions(), InProcessProvider(answers.in_process(two_calls))):
        provider.dispose()
        provider.dispose()
