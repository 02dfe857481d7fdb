"""Speak the streaming messages format for the same scripts: requests as chats, answers as events (reference: platform-facts).

The harness puts a prefix before the names of our tools, tells what became of calls that waited in a message of its own, and
adds what it calls runtime context; a script sees none of that.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lifecycle_core.testing import answers
from lifecycle_core.testing.answers import Answer, Call
from lifecycle_core.testing.chat_requests import ChatRequest

PREFIX: Final = re.compile(r"mcp__[A-Za-z0-9-]+__")
STOPS: Final = {"tool_calls": "tool_use", "length": "max_tokens", "stop": "end_turn"}
ASIDES: Final = ("Current runtime context.", "The turn was interrupted.")


def request(body: Mapping[str, Any]) -> ChatRequest:
    """Return a request as a script knows it."""
    said: list[Mapping[str, Any]] = [{"role": "system", "content": body.get("system", "")}]
    for message in body["messages"]:
        blocks = _blocks(message["content"])
        said += [_assistant(blocks)] if message["role"] == "assistant" else _user(blocks)
    return ChatRequest(model=body["model"], messages=said, tools=tuple(names(body)))


def names(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the offered tools on the wire, by the names that scripts use."""
    return {PREFIX.sub("", tool["name"], count=1): tool["name"] for tool in body.get("tools", ())}


def events(answer: Answer, asked: ChatRequest, wire: Mapping[str, str]) -> list[bytes]:
    """Return a proper answer as the events of a stream; `wire` has the tools' names on it."""
    sent = [
        event("message_start", message={"role": "assistant", "content": [], "usage": _usage(answer, asked)})
    ]
    blocks = [*_said("thinking", answer.reasoning), *_said("text", answer.text)]
    blocks += [_called(call, wire) for call in answers.named(answer, asked)]
    for index, (content, deltas) in enumerate(blocks):
        sent.append(event("content_block_start", index=index, content_block=content))
        sent += [event("content_block_delta", index=index, delta=delta) for delta in deltas]
        sent.append(event("content_block_stop", index=index))
    output = {"output_tokens": max(1, len(answer.text) // 4)}
    sent.append(event("message_delta", delta={"stop_reason": _stop(answer)}, usage=output))
    return [*sent, event("message_stop")]


def event(kind: str, **fields: Any) -> bytes:
    """Return one event of a stream."""
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _blocks(content: Any) -> Sequence[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _assistant(blocks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    calls = [_tool_call(block) for block in blocks if block["type"] == "tool_use"]
    said: dict[str, Any] = {"role": "assistant", "content": _text(blocks)}
    return said | ({"tool_calls": calls} if calls else {})


def _tool_call(block: Mapping[str, Any]) -> Mapping[str, Any]:
    function = {"name": PREFIX.sub("", block["name"], count=1), "arguments": json.dumps(block["input"])}
    return {"id": block["id"], "type": "function", "function": function}


def _user(blocks: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for block in blocks:
        if block["type"] == "tool_result":
            yield _result(block["tool_use_id"], _text(_blocks(block["content"])))
        elif block["text"].startswith('{"kind":"interaction-response"'):
            for told in json.loads(block["text"])["results"]:
                yield _result(told["call"], told["content"])
        elif not block["text"].startswith(ASIDES):
            yield {"role": "user", "content": block["text"]}


def _result(call: str, content: str) -> Mapping[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": content}


def _text(blocks: Sequence[Mapping[str, Any]]) -> str:
    return "".join(block["text"] for block in blocks if block["type"] == "text")


def _said(kind: str, text: str) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if not text:
        return []
    return [
        ({"type": kind, kind: ""}, [{"type": f"{kind}_delta", kind: part} for part in answers.parts(text)])
    ]


def _called(call: Call, wire: Mapping[str, str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    content: dict[str, Any] = {
        "type": "tool_use",
        "id": call.id,
        "name": wire.get(call.tool, call.tool),
        "input": {},
    }
    return content, [{"type": "input_json_delta", "partial_json": part} for part in answers.parts(call.text)]


def _stop(answer: Answer) -> str:
    finish = answer.finish or ("tool_calls" if answer.calls else "stop")
    return STOPS.get(finish, finish)


def _usage(answer: Answer, asked: ChatRequest) -> dict[str, int]:
    prompt = sum(len(str(message["content"])) for message in asked.messages) // 4
    return {"input_tokens": prompt, "cache_read_input_tokens": answer.cached, "output_tokens": 1}
