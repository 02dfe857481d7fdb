"""Join the chunks of a streamed answer into one answer (reference: seed-contracts 16).

Nothing is guessed: what is not as it should be fails the whole call, because half an answer is not an answer.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NoReturn

from lifecycle_core.contract import digests, errors, ports
from lifecycle_core.providers import chat_failures

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
        self._emit = emit
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._finish = ""
        self._usage = {"input": 0, "output": 0, "cached": 0}
        self._half = ""

    def add(self, payload: bytes) -> None:
        """Take one payload. Raises `ports.ModelCallFailed`."""
        chunk = _object(_json(payload), "a chunk")
        if chunk.get("error"):
            raise chat_failures.of_chunk(chunk["error"])
        if chunk.get("usage") is not None:
            self._usage = _usage(_object(chunk["usage"], "usage"))
        for choice in _list(chunk.get("choices"), "choices"):
            self._choose(_object(choice, "a choice"))

    def reply(self) -> Reply:
        """Return the whole answer. Raises `ports.ModelCallFailed` when it cannot be used."""
        if not self._finish:
            _malformed("the answer has no finish reason")
        if self._finish not in FINISHES:
            raise ports.ModelCallFailed(
                _code(self._finish), "the model stopped for another reason than it should"
            )
        finish = FINISHES[self._finish]
        # A call that was cut off may be anything, and nobody can tell which one that is.
        calls = [] if finish == "max-tokens" else [self._calls[index] for index in sorted(self._calls)]
        text, reasoning = _paired("".join(self._text)), _paired("".join(self._reasoning))
        if finish != "max-tokens" and not (text or reasoning or calls):
            raise ports.ModelCallFailed("EMPTY_RESPONSE", "the model stopped without saying anything")
        if finish == "tool-calls" and not calls:
            _malformed("the model stopped for calls and made none")
        written = [_paired("".join(call.fragments)) for call in calls]
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
            _malformed("there is more than one choice")
        delta = _object(choice.get("delta") or {}, "delta")
        text, reasoning = (
            _string(delta.get("content"), "content"),
            _string(delta.get("reasoning_content"), "reasoning"),
        )
        calls = _list(delta.get("tool_calls"), "tool_calls")
        if self._finish and (text or reasoning or calls):
            _malformed("the answer goes on after its finish reason")
        self._say(text)
        if reasoning:
            self._reasoning.append(reasoning)
        for fragment in calls:
            self._join(_object(fragment, "a tool call"))
        self._finish = _string(choice.get("finish_reason"), "finish_reason") or self._finish

    def _say(self, text: str) -> None:
        if not text:
            return
        self._text.append(text)
        # A server that counts in UTF-16 may cut a character in two; the half waits for its other half.
        text = self._half + text
        self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        whole = text[:-1] if self._half else text
        if whole:
            self._emit(_paired(whole))

    def _join(self, fragment: dict[str, Any]) -> None:
        index = fragment.get("index")
        if type(index) is not int or index < 0:
            _malformed("a tool call has no index")
        function = _object(fragment.get("function") or {}, "function")
        id, tool = _string(fragment.get("id"), "a call id"), _string(function.get("name"), "a tool name")
        call = self._calls.setdefault(index, _Call(id, tool, []))
        if (id and id != call.id) or (tool and tool != call.tool):
            _malformed("two tool calls share an index")
        call.fragments.append(_string(function.get("arguments"), "arguments"))


def _proposed(call: _Call, written: str) -> ports.ProposedCall:
    arguments, problem = _arguments(written)
    return ports.ProposedCall(
        call_id=_paired(call.id), tool=_paired(call.tool), arguments=arguments, problem=problem
    )


def _arguments(written: str) -> tuple[dict[str, digests.Json] | None, str]:
    """Return the arguments, or what is wrong with them; a call without parameters may have no text at all."""
    if not written.strip():
        return {}, ""
    try:
        value = digests.parse(written)
    except errors.NotCanonical as refusal:
        return None, f"the arguments are not valid JSON: {refusal.detail}"
    if not isinstance(value, dict):
        return None, "the arguments are no JSON object"
    return value, ""


def _usage(usage: dict[str, Any]) -> dict[str, int]:
    """Return the tokens; `prompt_tokens` counts cache hits too."""
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    details = _object(usage.get("prompt_tokens_details") or {}, "prompt_tokens_details")
    cached = min(_count(usage.get("prompt_cache_hit_tokens", details.get("cached_tokens"))), prompt)
    return {"input": prompt - cached, "output": output, "cached": cached}


def _count(value: Any) -> int:
    if value is None:
        return 0
    if type(value) is not int or value < 0:
        _malformed("a token count is no count")
    return int(value)


def _code(reason: str) -> str:
    """Return a finish reason as an error code, where it is fit to be one."""
    if len(reason) > 64 or not reason.isascii() or not reason.replace("_", "").replace("-", "").isalnum():
        _malformed("the finish reason is no word")
    return reason.upper()


def _json(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        _malformed("a payload is not JSON")


def _paired(text: str) -> str:
    """Return a text with its surrogate pairs joined. A half that stays alone fails the call."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        _malformed("a character is cut in half")


def _object(value: Any, what: str) -> dict[str, Any]:
    return value if isinstance(value, dict) else _malformed(f"{what} is no object")


def _list(value: Any, what: str) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else _malformed(f"{what} is no list")


def _string(value: Any, what: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _malformed(f"{what} is no text")


def _malformed(detail: str) -> NoReturn:
    raise ports.ModelCallFailed("MALFORMED_RESPONSE", detail)
