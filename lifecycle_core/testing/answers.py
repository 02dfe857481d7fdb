"""What a scripted model says, and the pieces in which it goes over the wire (reference: seed-contracts 16).

A script is a function from a request to an answer. It says what the model would do next, given what happened
so far.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from lifecycle_core.contract import digests, errors, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.chat_requests import ChatRequest, Parsed

type Finish = Literal["stop", "tool-calls", "max-tokens"]

DONE: Final = b"data: [DONE]\n\n"
FINISHES: Final[Mapping[str, Finish]] = {"stop": "stop", "tool_calls": "tool-calls", "length": "max-tokens"}


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call. `arguments` given as text go out as they are; an empty `id` gets one of the usual form."""

    tool: str
    arguments: Json | str
    id: str | None = None

    @property
    def text(self) -> str:
        return (
            self.arguments
            if isinstance(self.arguments, str)
            else json.dumps(self.arguments, ensure_ascii=False)
        )


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A proper answer. An empty `finish` is the one that fits; `cached` is a part of the prompt's tokens."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    cached: int = 0


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An HTTP error instead of an answer; `retry_after` in seconds or as a date."""

    status: int
    message: str = ""
    retry_after: str = ""
    request_id: str = ""


@dataclass(eq=False)
class Hold:
    """A place at which the server stops until the test lets it go on; `reached` tells when it is there."""

    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


class Cut:
    """The place at which the server drops the connection."""


type Piece = bytes | Hold | Cut


@dataclass(frozen=True)
class Stream:
    """An answer given piece by piece, for what no proper server would send."""

    pieces: Sequence[Piece] | Iterator[Piece]


type Reply = Answer | Refusal | Stream
type Script = Callable[[ChatRequest], Reply]


def repeating(answer: Answer, times: int, last: Answer) -> Script:
    """Return a script that gives one answer `times` times, then another; it never looks into the messages.

    So its cost does not grow with the chat, which is what a bench needs.
    """
    messages = 1 + len(answer.calls)
    return lambda request: answer if (len(request.messages) - 2) // messages < times else last


def event(chunk: Any) -> bytes:
    """Return one event of a stream."""
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return one chunk with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def events(answer: Answer, request: ChatRequest) -> list[bytes]:
    """Return a proper answer as the events of a stream."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": part} for part in parts(answer.reasoning)]
    deltas += [{"content": part} for part in parts(answer.text)]
    for index, call in enumerate(named(answer, request)):
        function = {"name": call.tool, "arguments": ""}
        deltas.append(
            {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        )
        deltas += [_fragment(index, part) for part in parts(call.text)]
    usage = {"usage": _usage(answer, request)}
    return [*(event(chunk(delta)) for delta in deltas), event(chunk({}, _finish(answer)) | usage), DONE]


def _fragment(index: int, part: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def parts(text: str) -> list[str]:
    """Cut a text as models do: a few words at a time."""
    words = text.split(" ")
    joined = [" ".join(words[at : at + 4]) for at in range(0, len(words), 4)]
    return [part + " " * (index < len(joined) - 1) for index, part in enumerate(joined) if text]


def named(answer: Answer, request: ChatRequest) -> list[Call]:
    """Return the calls of an answer, each with an id that no other call of the chat has."""
    at = len(request.messages)
    return [
        Call(
            tool=call.tool, arguments=call.arguments, id=f"call_{at}_{index}" if call.id is None else call.id
        )
        for index, call in enumerate(answer.calls)
    ]


def _finish(answer: Answer) -> str:
    return answer.finish or ("tool_calls" if answer.calls else "stop")


def _usage(answer: Answer, request: ChatRequest) -> dict[str, Any]:
    prompt = sum(len(str(message["content"])) for message in request.messages) // 4 + answer.cached
    output = (len(answer.text) + sum(len(call.text) for call in answer.calls)) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    return usage | {"prompt_cache_hit_tokens": answer.cached}


def in_process(script: Script) -> Callable[[str, Sequence[bytes]], ports.ModelAnswer]:
    """Return a script as the function of an in-process provider, which says the same without a wire."""

    def respond(model: str, messages: Sequence[bytes]) -> ports.ModelAnswer:
        request = ChatRequest(model=model, messages=Parsed(messages))
        match script(request):
            case Answer() as answer:
                return _model_answer(answer, request)
            case Refusal() as refusal:
                raise ports.ModelCallFailed("SERVER", refusal.message)
            case Stream():
                raise ports.ModelCallFailed("TRANSPORT", "a stream needs a wire")

    return respond


def _model_answer(answer: Answer, request: ChatRequest) -> ports.ModelAnswer:
    return ports.ModelAnswer(
        text=answer.text,
        reasoning=answer.reasoning,
        calls=tuple(_proposed(call) for call in named(answer, request)),
        finish=FINISHES[_finish(answer)],
        usage={"input": 100, "output": 20, "cached": answer.cached},
    )


def _proposed(call: Call) -> ports.ProposedCall:
    try:
        arguments = digests.parse(call.text)
    except errors.NotCanonical as refusal:
        return ports.ProposedCall(
            call_id=call.id or "", tool=call.tool, arguments=None, problem=refusal.detail
        )
    whole = arguments if isinstance(arguments, dict) else None
    problem = "" if whole is not None else "the arguments are no JSON object"
    return ports.ProposedCall(call_id=call.id or "", tool=call.tool, arguments=whole, problem=problem)
