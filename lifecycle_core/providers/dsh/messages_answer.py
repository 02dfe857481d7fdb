"""Join the events of a streamed message into one answer, as strictly as chats are read (reference: seed-contracts 16)."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from lifecycle_core.contract import ports
from lifecycle_core.providers import chat_failures, payloads

type Finish = Literal["stop", "tool-calls", "max-tokens"]

FINISHES: Final[Mapping[str, Finish]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "max-tokens",
}
KINDS: Final = ("text", "thinking", "redacted_thinking", "tool_use")
DELTAS: Final[Mapping[str, tuple[str, str]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", ""),
    "input_json_delta": ("tool_use", "partial_json"),
}


@dataclass
class _Block:
    kind: str
    id: str = ""
    tool: str = ""
    parts: list[str] = field(default_factory=list)
    closed: bool = False


def read(events: Iterator[bytes], emit: Callable[[str], None]) -> tuple[ports.ModelAnswer, str]:
    """Read one answer from the data of its events; `emit` is given its text as it comes.

    Returned beside it: all that its blocks say, also what is no part of the answer, however the words were cut.
    Raises `ports.ModelCallFailed`: STREAM_CLOSED when the stream ends before the message does.
    """
    reader = _Reader(emit)
    for payload in events:
        if reader.add(payload):
            return reader.answer(), reader.said()
    raise ports.ModelCallFailed("STREAM_CLOSED", "the stream ended before message_stop")


class _Reader:
    def __init__(self, emit: Callable[[str], None]) -> None:
        self._text = payloads.Said(emit)
        self._blocks: dict[int, _Block] = {}
        self._said: dict[tuple[int, str], list[str]] = {}
        self._usage: dict[str, int] = {}
        self._begun = False
        self._reason = ""

    def add(self, payload: bytes) -> bool:
        """Take one event; true when it was the last one. Events of an unknown type say nothing."""
        event = payloads.an_object(payloads.read(payload), "an event")
        kind = payloads.a_text(event.get("type"), "a type")
        if kind == "error":
            raise chat_failures.of_chunk(event.get("error"))
        if kind.startswith(("content_block_", "message_")) and self._begun == (kind == "message_start"):
            payloads.malformed("a message begins once, and before anything of it")
        match kind:
            case "message_start":
                self._begun = True
                self._count(payloads.an_object(event.get("message"), "the message"))
            case "content_block_start":
                self._start(event)
            case "content_block_delta":
                self._join(event)
            case "content_block_stop":
                self._block(event).closed = True
            case "message_delta":
                self._reason = (
                    payloads.a_text(_delta(event).get("stop_reason"), "stop_reason") or self._reason
                )
                self._count(event)
        return kind == "message_stop"

    def answer(self) -> ports.ModelAnswer:
        """Return the whole answer. Raises `ports.ModelCallFailed` when it cannot be used."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        if not self._reason or not all(block.closed for block in blocks):
            payloads.malformed("the message ends in its middle")
        if self._reason not in FINISHES:
            code = payloads.a_code(self._reason)
            raise ports.ModelCallFailed(code, "the model stopped for another reason than it should")
        finish = FINISHES[self._reason]
        # A call that was cut off may be anything, and nobody can tell which one that is.
        calls = [] if finish == "max-tokens" else [block for block in blocks if block.kind == "tool_use"]
        answer = ports.ModelAnswer(
            text=self._text.whole(),
            reasoning=payloads.paired("".join(_parts(blocks, "thinking"))),
            calls=tuple(_proposed(block) for block in calls),
            finish=finish,
            usage=_usage(self._usage),
        )
        _check(answer)
        return answer

    def said(self) -> str:
        """Return every text of every block, each joined from its parts."""
        texts = "\n".join("".join(parts) for parts in self._said.values())
        return texts.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _start(self, event: dict[str, Any]) -> None:
        index, content = event.get("index"), payloads.an_object(event.get("content_block"), "a block")
        kind = payloads.a_text(content.get("type"), "a block's type")
        if type(index) is not int or index in self._blocks or kind not in KINDS or self._reason:
            payloads.malformed("a block begins where or as none may")
        id, tool = (payloads.a_text(content.get(name), name) for name in ("id", "name"))
        self._blocks[index] = block = _Block(kind, id, tool)
        self._hear(index, content)
        if kind == "text":
            self._text.add(payloads.a_text(content.get("text"), "text"))
        elif kind == "tool_use" and content.get("input"):
            block.parts.append(json.dumps(payloads.an_object(content["input"], "input"), ensure_ascii=False))
            self._hear(index, {"partial_json": block.parts[0]})

    def _join(self, event: dict[str, Any]) -> None:
        block, delta = self._block(event), _delta(event)
        kind, name = DELTAS.get(payloads.a_text(delta.get("type"), "a delta's type"), ("", ""))
        if kind != block.kind:
            payloads.malformed("a part does not belong to its block")
        self._hear(event["index"], delta)
        part = payloads.a_text(delta.get(name), name) if name else ""
        if kind == "text":
            self._text.add(part)
        elif part:
            block.parts.append(part)

    def _hear(self, index: int, part: dict[str, Any]) -> None:
        """Keep what a part says: a block that begins with some of a text has the rest of it under the same name."""
        for name, text in part.items():
            if name != "type" and isinstance(text, str):
                self._said.setdefault((index, name), []).append(text)

    def _block(self, event: dict[str, Any]) -> _Block:
        block = self._blocks.get(event["index"]) if type(event.get("index")) is int else None
        if block is None or block.closed:
            payloads.malformed("a part belongs to no open block")
        return block

    def _count(self, source: dict[str, Any]) -> None:
        """Take token counts, of which later ones replace earlier ones."""
        counts = payloads.an_object(source.get("usage") or {}, "usage")
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        ):
            if counts.get(name) is not None:
                self._usage[name] = payloads.a_count(counts[name])


def _delta(event: dict[str, Any]) -> dict[str, Any]:
    return payloads.an_object(event.get("delta"), "delta")


def _parts(blocks: list[_Block], kind: str) -> Iterator[str]:
    return (part for block in blocks if block.kind == kind for part in block.parts)


def _proposed(block: _Block) -> ports.ProposedCall:
    written = payloads.paired("".join(block.parts))
    if written:
        payloads.an_object(payloads.read(written.encode()), "the input of a call")
    arguments, problem = payloads.arguments(written)
    if not block.id or not block.tool:
        payloads.malformed("a call has no id or no tool name")
    return ports.ProposedCall(
        call_id=payloads.paired(block.id),
        tool=payloads.paired(block.tool),
        arguments=arguments,
        problem=problem,
    )


def _check(answer: ports.ModelAnswer) -> None:
    if answer.finish != "max-tokens" and not (answer.text or answer.reasoning or answer.calls):
        raise ports.ModelCallFailed("EMPTY_RESPONSE", "the model stopped without saying anything")
    if (answer.finish == "tool-calls") != bool(answer.calls):
        payloads.malformed("what the model stopped for is not what it made")
    if len({call.call_id for call in answer.calls}) != len(answer.calls):
        payloads.malformed("two calls have the same id")


def _usage(counts: Mapping[str, int]) -> dict[str, int]:
    return {
        "input": counts.get("input_tokens", 0) + counts.get("cache_creation_input_tokens", 0),
        "output": counts.get("output_tokens", 0),
        "cached": counts.get("cache_read_input_tokens", 0),
    }
