"""Join the chunks of a streamed answer into one answer (reference: seed-contracts 16).

Nothing is guessed: what is not as it should be fails the whole call, because half an answer is not an answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from lifecycle_core.contract import ports
from lifecycle_core.providers import chat_failures, payloads

type Finish = Literal["stop", "tool-calls", "max-tokens"]

FINISHES: Final[Mapping[str, Finish]] = {"stop": "stop", "tool_calls": "tool-calls", "length": "max-tokens"}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer, and the text of each call's arguments as the model wrote it, by call id."""

    answer: ports.ModelAnswer
    written: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Call:
    id: str
    tool: str
    fragments: list[str]


class AnswerReader:
    """Take the payloads of one answer in turn; `emit` is given its text as it comes."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._text = payloads.Said(emit)
        self._reasoning: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._finish = ""
        self._usage = {"input": 0, "output": 0, "cached": 0}

    def add(self, payload: bytes) -> None:
        """Take one payload. Raises `ports.ModelCallFailed`."""
        chunk = payloads.an_object(payloads.read(payload), "a chunk")
        if chunk.get("error"):
            raise chat_failures.of_chunk(chunk["error"])
        if chunk.get("usage") is not None:
            self._usage = _usage(payloads.an_object(chunk["usage"], "usage"))
        for choice in payloads.a_list(chunk.get("choices"), "choices"):
            self._choose(payloads.an_object(choice, "a choice"))

    def reply(self) -> Reply:
        """Return the whole answer. Raises `ports.ModelCallFailed` when it cannot be used."""
        if not self._finish:
            payloads.malformed("the answer has no finish reason")
        if self._finish not in FINISHES:
            raise ports.ModelCallFailed(
                payloads.a_code(self._finish), "the model stopped for another reason than it should"
            )
        finish = FINISHES[self._finish]
        # A call that was cut off may be anything, and nobody can tell which one that is.
        calls = [] if finish == "max-tokens" else [self._calls[index] for index in sorted(self._calls)]
        text, reasoning = self._text.whole(), payloads.paired("".join(self._reasoning))
        if finish != "max-tokens" and not (text or reasoning or calls):
            raise ports.ModelCallFailed("EMPTY_RESPONSE", "the model stopped without saying anything")
        if finish == "tool-calls" and not calls:
            payloads.malformed("the model stopped for calls and made none")
        written = [payloads.paired("".join(call.fragments)) for call in calls]
        answer = ports.ModelAnswer(
            text=text,
            reasoning=reasoning,
            calls=tuple(_proposed(call, text) for call, text in zip(calls, written, strict=True)),
            finish=finish,
            usage=self._usage,
        )
        return Reply(
            answer=answer, written={call.id: text for call, text in zip(calls, written, strict=True)}
        )

    def _choose(self, choice: dict[str, Any]) -> None:
        if choice.get("index", 0) != 0:
            payloads.malformed("there is more than one choice")
        delta = payloads.an_object(choice.get("delta") or {}, "delta")
        text, reasoning = (
            payloads.a_text(delta.get("content"), "content"),
            payloads.a_text(delta.get("reasoning_content"), "reasoning"),
        )
        calls = payloads.a_list(delta.get("tool_calls"), "tool_calls")
        if self._finish and (text or reasoning or calls):
            payloads.malformed("the answer goes on after its finish reason")
        self._text.add(text)
        if reasoning:
            self._reasoning.append(reasoning)
        for fragment in calls:
            self._join(payloads.an_object(fragment, "a tool call"))
        self._finish = payloads.a_text(choice.get("finish_reason"), "finish_reason") or self._finish

    def _join(self, fragment: dict[str, Any]) -> None:
        index = fragment.get("index")
        if type(index) is not int or index < 0:
            payloads.malformed("a tool call has no index")
        function = payloads.an_object(fragment.get("function") or {}, "function")
        id, tool = (
            payloads.a_text(fragment.get("id"), "a call id"),
            payloads.a_text(function.get("name"), "a tool name"),
        )
        call = self._calls.setdefault(index, _Call(id, tool, []))
        if (id and id != call.id) or (tool and tool != call.tool):
            payloads.malformed("two tool calls share an index")
        call.fragments.append(payloads.a_text(function.get("arguments"), "arguments"))


def _proposed(call: _Call, written: str) -> ports.ProposedCall:
    arguments, problem = payloads.arguments(written)
    return ports.ProposedCall(
        call_id=payloads.paired(call.id),
        tool=payloads.paired(call.tool),
        arguments=arguments,
        problem=problem,
    )


def _usage(usage: dict[str, Any]) -> dict[str, int]:
    """Return the tokens; `prompt_tokens` counts cache hits too."""
    prompt, output = (
        payloads.a_count(usage.get("prompt_tokens")),
        payloads.a_count(usage.get("completion_tokens")),
    )
    details = payloads.an_object(usage.get("prompt_tokens_details") or {}, "prompt_tokens_details")
    cached = min(payloads.a_count(usage.get("prompt_cache_hit_tokens", details.get("cached_tokens"))), prompt)
    return {"input": prompt - cached, "output": output, "cached": cached}
