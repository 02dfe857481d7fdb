"""The messages of a chat, as the exact bytes that are kept and sent (reference: seed-contracts 16).

A message is made once, as canonical JSON, and never again: a request is its messages' bytes joined. So a step
costs the same however long the chat is, and a restored session sends the same bytes as the one that it
restores.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lifecycle_core.contract import digests, errors, ports
from lifecycle_core.contract.digests import Json

IDENTITY: Final = re.compile(r"chat-[0-9a-f]{32}")
NO_OUTPUT: Final = "(no output)"

# What an admitted configuration may say about a request, and what in it is for others.
_PARAMETERS: Final = ("temperature", "max_tokens", "stop", "thinking", "reasoning_effort")
_FOR_OTHERS: Final = ("credentialRef", "providerRoute", "baseURL")


def system(text: str) -> bytes:
    return digests.canonical({"role": "system", "content": text})


def user(purpose: str, value: Json) -> bytes:
    """Return the message that starts an episode: the purpose, then the input as one line of JSON."""
    return digests.canonical(
        {"role": "user", "content": f"{purpose}\n\nInput:\n{digests.canonical(value).decode()}"}
    )


def assistant(answer: ports.ModelAnswer, written: Mapping[str, str]) -> bytes:
    """Return the model's own answer, with its arguments as it wrote them where they still are the same."""
    message: dict[str, Json] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_tool_call(call, written.get(call.call_id)) for call in answer.calls]
    return digests.canonical(message)


def tool(call_id: str, content: str) -> bytes:
    return digests.canonical({"role": "tool", "tool_call_id": call_id, "content": content or NO_OUTPUT})


def _tool_call(call: ports.ProposedCall, written: str | None) -> Json:
    function: dict[str, Json] = {"name": call.tool, "arguments": _arguments(call, written)}
    return {"id": call.call_id, "type": "function", "function": function}


def _arguments(call: ports.ProposedCall, written: str | None) -> str:
    if call.arguments is None:
        return written or ""
    arguments = digests.canonical(call.arguments)
    return written if written and _says(written, arguments) else arguments.decode()


def _says(written: str, arguments: bytes) -> bool:
    try:
        return digests.canonical(digests.parse(written)) == arguments
    except errors.NotCanonical:
        return False


def head(route: ports.ModelRoute, tools: Sequence[ports.ToolSpec]) -> bytes:
    """Return a request up to its messages. Raises `errors.ConfigurationInvalid` for an unknown setting."""
    unknown = sorted(set(route.configuration) - {*_PARAMETERS, *_FOR_OTHERS})
    if unknown:
        raise errors.ConfigurationInvalid(detail=f"chat-completions does not know the setting {unknown[0]}")
    request: dict[str, Any] = {
        "model": route.model,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    request |= {name: route.configuration[name] for name in _PARAMETERS if name in route.configuration}
    if tools:
        request["tools"] = [_function(spec) for spec in tools]
    return digests.canonical(digests.thaw(request))[:-1] + b',"messages":['


def _function(spec: ports.ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.input_schema}
    return {"type": "function", "function": function}


def request(start: bytes, messages: Sequence[bytes]) -> bytes:
    """Return the body of a request, whose `start` came from `head`."""
    return start + b",".join(messages) + b"]}"


def open_calls(messages: Sequence[bytes]) -> dict[str, str]:
    """Return the calls of the last answer that have no result yet, as call id to tool, in their order.

    Raises `LookupError` when the messages are not those of a chat.
    """
    answered: set[str] = set()
    for body in reversed(messages):
        message = read(body)
        if message["role"] == "tool":
            answered.add(message["tool_call_id"])
            continue
        calls = message.get("tool_calls", ())
        return {call["id"]: call["function"]["name"] for call in calls if call["id"] not in answered}
    return {}


def role(body: bytes) -> str:
    """Return who says a message. Raises `LookupError` when it is none."""
    return str(read(body)["role"])


def read(body: bytes) -> dict[str, Any]:
    """Return a kept message. Raises `LookupError` when it is none."""
    try:
        message = json.loads(body)
    except ValueError as cause:
        raise LookupError("a kept message cannot be read") from cause
    if not isinstance(message, dict) or message.get("role") not in ("system", "user", "assistant", "tool"):
        raise LookupError("a kept message is none of a chat")
    return message
