"""The rules of the streaming wire, one by one, over a real socket (reference: seed-contracts 16)."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.providers import chat_stream
from lifecycle_core.testing import answers, faults
from lifecycle_core.testing.answers import Answer, Call, Piece, Reply, Script, Stream
from lifecycle_core.testing.carriers import MemoryCarrier
from lifecycle_core.testing.chat_requests import ChatRequest
from tests.lifecycle_core.providers.conftest import KEY, Chat

type Start = Callable[[Script], Chat]

ANSWER = Answer(text="Hello, this is the answer.", reasoning="let me think", cached=7)
CALLS = Answer(
    text="I act.", calls=(Call(tool="one", arguments={"a": "ü😀"}), Call(tool="two", arguments={}))
)


def says(*chunks: dict[str, Any], end: Piece = answers.DONE) -> Script:
    """Return a script whose answer has exactly these chunks."""
    return lambda request: Stream([*(answers.event(chunk) for chunk in chunks), end])


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return answers.chunk(fields, finish)


def usage(**counts: Any) -> dict[str, Any]:
    return {"choices": [], "usage": counts}


def sends(data: bytes) -> Script:
    return lambda request: Stream([data])


def test_a_request_has_the_fields_and_headers_of_the_wire(chat: Start) -> None:
    started = chat(lambda request: ANSWER)
    started.answer()
    (received,) = started.server.received
    body = json.loads(received.body)
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["accept"] == "text/event-stream"
    assert KEY.encode() not in received.body
    assert body == {
        "model": "test",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "You test."},
            {"role": "user", "content": 'Test it.\n\nInput:\n{"n":1}'},
        ],
    }


def test_text_reasoning_and_usage_of_a_proper_answer_arrive_whole(chat: Start) -> None:
    answer = chat(lambda request: ANSWER).answer()
    assert (answer.text, answer.reasoning, answer.finish) == (ANSWER.text, ANSWER.reasoning, "stop")
    assert answer.usage["cached"] == 7


def test_text_is_given_on_while_it_streams(chat: Start) -> None:
    hold = answers.Hold()
    first, rest = answers.event(delta(content="first")), answers.event(delta("stop", content=" second"))

    class Releasing(MemoryCarrier):
        def call_model(self, perform: Any, conversation: Any = None) -> ports.ModelAnswer:
            said: list[str] = []

            def emit(text: str) -> None:
                said.append(text)
                hold.released.set()  # The rest of the answer comes only once its beginning was given on.

            answer: ports.ModelAnswer = perform(emit)
            assert said == ["first", " second"]
            return answer

    chat(lambda request: Stream([first, hold, rest, answers.DONE])).run(Releasing())


@pytest.mark.parametrize("answer", [ANSWER, CALLS])
def test_an_answer_is_the_same_when_every_byte_comes_alone(chat: Start, answer: Answer) -> None:
    def script(request: ChatRequest) -> Reply:
        return Answer(text="done") if request.calls() else answer

    tools = {"one": lambda arguments: "1", "two": lambda arguments: "2"}
    whole = chat(script).run(MemoryCarrier(tools))
    split = chat(faults.with_fault(script, faults.byte_by_byte)).run(MemoryCarrier(tools))
    assert split.answers == whole.answers
    assert split.kept == whole.kept
    assert [call.arguments for call in whole.answers[0].calls] == [call.arguments for call in answer.calls]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (faults.without_done, "STREAM_CLOSED"),
        (faults.unterminated, "STREAM_CLOSED"),
        (faults.cut_inside_event, "STREAM_CLOSED"),
        (faults.malformed, "MALFORMED_RESPONSE"),
        (faults.on_after_finish, "MALFORMED_RESPONSE"),
    ],
)
def test_a_broken_stream_fails_the_whole_call(
    chat: Start, fault: Callable[[Sequence[Piece]], Sequence[Piece]], code: str
) -> None:
    started = chat(faults.with_fault(lambda request: ANSWER, fault))
    carrier = started.run()
    (event,) = carrier.events
    assert isinstance(event, ports.ProviderFailed)
    assert (event.code, event.detail.split(":")[0]) == ("PROVIDER_PROTOCOL_ERROR", code)
    assert len(carrier.kept) == 2  # Nothing of the answer became a part of the chat.


@pytest.mark.parametrize("ending", ["\n\n", "\r\n\r\n", "\r\r"])
def test_lines_may_end_in_all_three_ways_and_comments_say_nothing(chat: Start, ending: str) -> None:
    line = ending[: len(ending) // 2]
    first = (
        f": keep-alive{ending}event: message{line}data: {json.dumps(delta(content='Hi'))}{ending}: more{line}"
    )
    last = f"data:{json.dumps(delta('stop'))}{ending}data: [DONE]{ending}"
    assert chat(sends((first + last).encode())).answer().text == "Hi"


def test_a_payload_may_span_data_lines(chat: Start) -> None:
    text = json.dumps(delta(content="Hi"), indent=1).replace("\n", "\ndata: ")
    stop = json.dumps(delta("stop"))
    assert chat(sends(f"data: {text}\n\ndata: {stop}\n\ndata: [DONE]\n\n".encode())).answer().text == "Hi"


@pytest.mark.parametrize(
    ("reason", "finish"), [("stop", "stop"), ("tool_calls", "tool-calls"), ("length", "max-tokens")]
)
def test_finish_reasons_have_our_names(chat: Start, reason: str, finish: str) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "wait", "arguments": "{}"}}
    carrier = MemoryCarrier()
    started = chat(says(delta(content="text", tool_calls=[call]), delta(reason)))
    if finish == "max-tokens":
        started.run(carrier)
    else:
        with pytest.raises(ports.TurnSuspended):
            started.run(carrier)
    assert carrier.answers[0].finish == finish


@pytest.mark.parametrize(
    ("reason", "code"),
    [("content_filter", "CONTENT_FILTER"), ("insufficient_system_resource", "INSUFFICIENT_SYSTEM_RESOURCE")],
)
def test_another_finish_reason_is_an_error_with_its_name(chat: Start, reason: str, code: str) -> None:
    assert chat(says(delta(content="text"), delta(reason))).failure()[0] == code


def test_a_finish_reason_that_is_no_word_is_malformed(chat: Start) -> None:
    assert chat(says(delta("no: word\n"))).failure()[0] == "MALFORMED_RESPONSE"


def test_an_answer_without_a_finish_reason_is_malformed(chat: Start) -> None:
    assert chat(says(delta(content="text"))).failure()[0] == "MALFORMED_RESPONSE"


def test_a_stop_with_nothing_is_an_empty_response(chat: Start) -> None:
    assert chat(says(delta(content="", reasoning_content=""), delta("stop"))).failure()[0] == "EMPTY_RESPONSE"


def test_calls_that_were_cut_off_are_dropped(chat: Start) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "delete", "arguments": '{"path": "/tmp/a'}}
    carrier = chat(says(delta(content="I", tool_calls=[call]), delta("length"))).run()
    assert carrier.answers[0].calls == ()
    assert b"tool_calls" not in carrier.kept[-1]


def test_fragments_are_joined_by_index_in_any_interleaving(chat: Start) -> None:
    def fragment(index: int, text: str, id: str | None = None, name: str | None = None) -> dict[str, Any]:
        return delta(tool_calls=[{"index": index, "id": id, "function": {"name": name, "arguments": text}}])

    script = says(
        fragment(1, "", id="b", name="two"),
        fragment(0, '{"x"', id="a", name="one"),
        fragment(1, '{"y": 2'),
        fragment(0, ": 1}"),
        fragment(1, "}"),
        delta("tool_calls"),
    )
    carrier = MemoryCarrier()
    with pytest.raises(ports.TurnSuspended):
        chat(script).run(carrier)
    assert [(call.call_id, call.tool, call.arguments) for call in carrier.answers[0].calls] == [
        ("a", "one", {"x": 1}),
        ("b", "two", {"y": 2}),
    ]


@pytest.mark.parametrize(
    "call", [{"id": "c", "function": {"name": "t"}}, {"index": -1}, {"index": True}, "x"]
)
def test_a_fragment_without_a_place_is_malformed(chat: Start, call: Any) -> None:
    assert chat(says(delta(tool_calls=[call]), delta("tool_calls"))).failure()[0] == "MALFORMED_RESPONSE"


def test_two_calls_at_one_index_are_malformed(chat: Start) -> None:
    first, second = ({"index": 0, "id": id, "function": {"name": "t", "arguments": "{}"}} for id in "ab")
    script = says(delta(tool_calls=[first]), delta(tool_calls=[second]), delta("tool_calls"))
    assert chat(script).failure()[0] == "MALFORMED_RESPONSE"


def test_cached_tokens_are_no_input_tokens(chat: Start) -> None:
    counts = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 60}
    answer = chat(says(delta(content="a"), delta("stop"), usage(**counts))).answer()
    assert answer.usage == {"input": 40, "output": 5, "cached": 60}


def test_usage_is_read_from_the_other_dialect_and_from_the_finishing_chunk(chat: Start) -> None:
    counts = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    answer = chat(says(delta(content="a"), delta("stop") | {"usage": counts})).answer()
    assert answer.usage == {"input": 6, "output": 2, "cached": 4}


@pytest.mark.parametrize("count", [-1, 1.5, "7", True])
def test_a_token_count_that_is_none_is_malformed(chat: Start, count: Any) -> None:
    script = says(delta(content="a"), delta("stop"), usage(prompt_tokens=count))
    assert chat(script).failure()[0] == "MALFORMED_RESPONSE"


@pytest.mark.parametrize(
    "payload",
    [
        b"[]",
        b"null",
        b'{"choices": {}}',
        b'{"choices": [1]}',
        b'{"choices": [{"delta": {"content": 1}}]}',
        b"\xff",
    ],
)
def test_a_chunk_of_another_form_is_malformed(chat: Start, payload: bytes) -> None:
    assert chat(sends(b"data: " + payload + b"\n\n" + answers.DONE)).failure()[0] == "MALFORMED_RESPONSE"


def test_a_second_choice_is_malformed(chat: Start) -> None:
    choice = {"index": 1, "delta": {"content": "or this"}}
    assert chat(says({"choices": [choice]})).failure()[0] == "MALFORMED_RESPONSE"


def test_a_character_that_was_cut_in_two_is_joined(chat: Start) -> None:
    halves = b"".join(
        b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n' % half for half in (rb"a\ud83d", rb"\ude00b")
    )
    carrier = chat(sends(halves + answers.event(delta("stop")) + answers.DONE)).run()
    assert (carrier.answers[0].text, carrier.text) == ("a😀b", "a😀b")


def test_half_a_character_is_malformed(chat: Start) -> None:
    half = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
    assert (
        chat(sends(half + answers.event(delta("stop")) + answers.DONE)).failure()[0] == "MALFORMED_RESPONSE"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": "overloaded"}, "SERVER"),
        ({"message": "You exceeded your current quota"}, "QUOTA"),
        ({"code": "context_length_exceeded"}, "CONTEXT_WINDOW_EXCEEDED"),
    ],
)
def test_an_error_inside_the_stream_fails_the_call(chat: Start, error: dict[str, str], code: str) -> None:
    assert chat(says(delta(content="I was about to"), {"error": error})).failure()[0] == code


@pytest.mark.parametrize(
    "written",
    ["[1]", "7", '{"a": 1', '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 9007199254740993}', '{"a": "\\ud800"}'],
)
def test_arguments_that_are_no_exact_json_object_are_said_to_be_none(chat: Start, written: str) -> None:
    carrier = MemoryCarrier()
    started = chat(
        lambda request: (
            Answer(text="done") if request.calls() else Answer(calls=(Call(tool="t", arguments=written),))
        )
    )
    started.run(carrier)
    (call,) = carrier.answers[0].calls
    assert call.arguments is None
    assert call.problem
    message = json.loads(carrier.kept[2])
    assert message["tool_calls"][0]["function"]["arguments"] == written


def test_a_call_without_argument_text_has_no_arguments(chat: Start) -> None:
    carrier = MemoryCarrier()
    with pytest.raises(ports.TurnSuspended):
        chat(lambda request: Answer(calls=(Call(tool="t", arguments=""),))).run(carrier)
    assert carrier.answers[0].calls[0].arguments == {}


def test_a_line_without_an_end_is_refused(chat: Start) -> None:
    code, detail = chat(lambda request: faults.huge_line()).failure()
    assert code == "MALFORMED_RESPONSE"
    assert "line" in detail


def test_an_answer_without_an_end_is_refused(chat: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_stream, "BODY_BYTES", 1_000_000)
    code, detail = chat(lambda request: faults.huge_answer()).failure()
    assert code == "MALFORMED_RESPONSE"
    assert "answer" in detail


def test_an_event_of_too_many_lines_is_refused(chat: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_stream, "EVENT_BYTES", 10_000)
    code, detail = chat(sends(b"data: xxxxxxxxx\n" * 2000)).failure()
    assert code == "MALFORMED_RESPONSE"
    assert "event" in detail
