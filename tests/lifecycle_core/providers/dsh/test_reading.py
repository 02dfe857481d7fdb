"""The rules of the messages stream, one by one, without a wire."""

from collections.abc import Sequence
from typing import Any

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.providers import chat_stream
from lifecycle_core.providers.dsh import messages_answer
from lifecycle_core.testing import messages
from lifecycle_core.testing.answers import Answer, Call
from lifecycle_core.testing.chat_requests import ChatRequest

ASKED = ChatRequest(model="m", messages=[{"role": "user", "content": "Do it."}])
WHOLE = Answer(
    text="Hello, this is the answer.",
    reasoning="let me think",
    calls=(Call(tool="one", arguments={"a": "ü😀"}), Call(tool="two", arguments={})),
    cached=7,
)


def read(events: Sequence[bytes], said: list[str] | None = None) -> ports.ModelAnswer:
    emit = (said if said is not None else []).append
    return messages_answer.read(chat_stream.events(events), emit)[0]


def code(events: Sequence[bytes]) -> str:
    with pytest.raises(ports.ModelCallFailed) as failed:
        read(events)
    return failed.value.code


def proper(answer: Answer = WHOLE) -> list[bytes]:
    return messages.events(answer, ASKED, {})


def block(content: dict[str, Any], *deltas: dict[str, Any], index: int = 0) -> list[bytes]:
    return [
        messages.event("content_block_start", index=index, content_block=content),
        *(messages.event("content_block_delta", index=index, delta=delta) for delta in deltas),
        messages.event("content_block_stop", index=index),
    ]


def message(*events: bytes, stop: str = "end_turn", usage: dict[str, Any] | None = None) -> list[bytes]:
    return [
        messages.event("message_start", message={"usage": usage or {}}),
        *events,
        messages.event("message_delta", delta={"stop_reason": stop}, usage={"output_tokens": 3}),
        messages.event("message_stop"),
    ]


TEXT = block({"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
CALL = {"type": "tool_use", "id": "c", "name": "t", "input": {}}


def test_a_proper_answer_arrives_whole_and_its_text_as_it_comes() -> None:
    said: list[str] = []
    answer = read(proper(), said)
    assert (answer.text, answer.reasoning, answer.finish) == (WHOLE.text, WHOLE.reasoning, "tool-calls")
    assert "".join(said) == WHOLE.text
    assert len(said) > 1
    assert [(call.tool, call.arguments) for call in answer.calls] == [("one", {"a": "ü😀"}), ("two", {})]
    assert answer.usage["cached"] == 7


@pytest.mark.parametrize(
    ("content", "deltas"),
    [
        ({"type": "text", "text": "my se"}, [{"type": "text_delta", "text": "cret"}]),
        ({"type": "thinking", "thinking": "my se"}, [{"type": "thinking_delta", "thinking": "cret"}]),
        ({"type": "thinking", "signature": "se"}, [{"type": "signature_delta", "signature": "cret"}]),
        (
            {"type": "thinking"},
            [
                {"type": "thinking_delta", "thinking": "my se"},
                {"type": "signature_delta", "signature": "s"},
                {"type": "thinking_delta", "thinking": "cret"},
            ],
        ),
        ({"type": "redacted_thinking", "data": "secret"}, []),
        ({"type": "tool_use", "id": "secret", "name": "t"}, []),
        ({"type": "tool_use", "id": "c", "name": "t", "input": {"a": "secret"}}, []),
        (CALL, [{"type": "input_json_delta", "partial_json": part} for part in ('{"a": "se', "cret")]),
    ],
)
def test_what_a_block_says_is_joined_however_it_was_cut(
    content: dict[str, Any], deltas: list[dict[str, Any]]
) -> None:
    events = message(*TEXT, *block(content, *deltas, index=1), stop="max_tokens")
    _, said = messages_answer.read(chat_stream.events(events), lambda text: None)
    assert "secret" in said


def test_an_event_may_have_two_lines_of_data() -> None:
    events = [event.replace(b'"delta": ', b'"delta":\ndata: ') for event in message(*TEXT)]
    assert events != message(*TEXT)
    answer, said = messages_answer.read(chat_stream.events(events), lambda text: None)
    assert (answer.text, said) == ("Hi", "Hi")


def test_an_answer_is_the_same_when_every_byte_comes_alone() -> None:
    whole = b"".join(proper())
    assert read([whole[at : at + 1] for at in range(len(whole))]) == read(proper())


def test_tokens_are_counted_once_and_cached_ones_apart() -> None:
    usage = {
        "input_tokens": 5,
        "output_tokens": 1,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 9,
    }
    assert read(message(*TEXT, usage=usage)).usage == {"input": 7, "output": 3, "cached": 9}


@pytest.mark.parametrize("kept", range(len(proper())))
def test_a_stream_that_ends_before_its_message_is_closed(kept: int) -> None:
    assert code(proper()[:kept]) == "STREAM_CLOSED"


@pytest.mark.parametrize(
    "events",
    [
        [b"data: {\n\n"],
        [b"data: []\n\n"],
        [b'data: {"type": 7}\n\n'],
        TEXT,
        message()[:1] * 2,
        message(*TEXT)[:-2] + message()[-1:],
        message(*TEXT[:-1]),
        message(*TEXT[1:]),
        message(*TEXT, *TEXT),
        message(*TEXT, TEXT[1]),
        message(*block({"type": "text"}, {"type": "thinking_delta", "thinking": "x"})),
        message(*block({"type": "text"}, {"type": "text_delta", "text": 7})),
        message(*block({"type": "server_tool_use", "id": "c", "name": "t"})),
        message(*block({"type": "text"}, index=True)),
        message(*block(CALL)),
        message(*TEXT, stop="tool_use"),
        message(*block({**CALL, "id": ""}), stop="tool_use"),
        message(*block({**CALL, "name": ""}), stop="tool_use"),
        message(*block(CALL), *block(CALL, index=1), stop="tool_use"),
        message(*block(CALL, {"type": "input_json_delta", "partial_json": '{"a": 1'}), stop="tool_use"),
        message(*block(CALL, {"type": "input_json_delta", "partial_json": "[1]"}), stop="tool_use"),
        message(*TEXT, usage={"input_tokens": -1}),
        message(*TEXT, stop="no: word\n"),
        message(*block({"type": "text"}, {"type": "text_delta", "text": "a@half@"})),
    ],
)
def test_what_is_not_as_it_should_be_is_malformed(events: Sequence[bytes]) -> None:
    assert code([event.replace(b"@half@", rb"\ud83d") for event in events]) == "MALFORMED_RESPONSE"


def test_a_character_that_was_cut_in_two_is_joined() -> None:
    halves = [
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%b"}}\n\n' % half
        for half in (rb"a\ud83d", rb"\ude00b")
    ]
    assert read(message(TEXT[0], *halves, TEXT[-1])).text == "a😀b"


@pytest.mark.parametrize("written", ['{"a": 1, "a": 2}', '{"a": 9007199254740993}', '{"a": NaN}'])
def test_arguments_that_are_not_exact_are_said_to_be_none(written: str) -> None:
    events = message(*block(CALL, {"type": "input_json_delta", "partial_json": written}), stop="tool_use")
    (call,) = read(events).calls
    assert call.arguments is None
    assert call.problem


def test_calls_that_were_cut_off_are_dropped() -> None:
    events = message(*TEXT, *block(CALL, {"type": "input_json_delta", "partial_json": '{"a'}, index=1))
    events[-2] = messages.event("message_delta", delta={"stop_reason": "max_tokens"})
    answer = read(events)
    assert (answer.calls, answer.finish) == ((), "max-tokens")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"type": "overloaded_error", "message": "overloaded"}, "SERVER"),
        ({"type": "rate_limit_error", "message": "You exceeded your current quota"}, "QUOTA"),
    ],
)
def test_an_error_inside_the_stream_fails_the_call(error: dict[str, str], expected: str) -> None:
    assert code([*message()[:1], messages.event("error", error=error)]) == expected


def test_another_stop_reason_is_an_error_with_its_name() -> None:
    assert code(message(*TEXT, stop="refusal")) == "REFUSAL"


def test_a_stop_with_nothing_is_an_empty_response() -> None:
    assert code(message()) == "EMPTY_RESPONSE"


def test_pings_and_unknown_events_say_nothing() -> None:
    events = [messages.event("ping"), *message(messages.event("hello", x=1), *TEXT)]
    assert read(events).text == "Hi"
