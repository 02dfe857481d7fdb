"""What a scripted model is asked, in a form that is easy to react to."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lifecycle_core.contract.digests import Json


@dataclass(frozen=True, kw_only=True)
class Done:
    """A call that the model made, with what it was told; `result` is JSON where the text was, `None` while it waits."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    result: Json

    @property
    def failed(self) -> bool:
        """Tell whether the call was refused, rejected, expired or did not work."""
        return isinstance(self.result, dict) and "error" in self.result

    @property
    def reason(self) -> str:
        """Return why it failed, in the words of the person who refused it where there are any."""
        result = self.result if isinstance(self.result, dict) else {}
        return str(result.get("reason") or result.get("detail") or result.get("error") or "")

    @property
    def answer(self) -> Json:
        """Return what a person answered to an input request, or `None` where nobody did."""
        result = self.result if isinstance(self.result, dict) else {}
        return result.get("content") if result.get("kind") == "ANSWER" else None


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One request to a model; `messages` are those of the wire."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: tuple[str, ...] = ()

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "ChatRequest":
        tools = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
        return cls(model=body["model"], messages=body["messages"], tools=tools)

    @property
    def system(self) -> str:
        return str(self.messages[0]["content"])

    @property
    def input(self) -> Any:
        """Return the action's input: the last line of the message that started the episode."""
        return json.loads(self._episode()[0]["content"].rsplit("\n", 1)[-1])

    def calls(self, tool: str = "") -> list[Done]:
        """Return the calls of this episode, those of one tool or all, in their order."""
        episode = self._episode()
        results = {said["tool_call_id"]: said["content"] for said in episode if said["role"] == "tool"}
        made = [call for said in episode for call in said.get("tool_calls", ())]
        return [_done(call, results) for call in made if not tool or call["function"]["name"] == tool]

    def last(self, tool: str) -> Done | None:
        """Return the last call of a tool in this episode."""
        calls = self.calls(tool)
        return calls[-1] if calls else None

    def _episode(self) -> Sequence[Mapping[str, Any]]:
        """Return the messages since the last episode of this chat was started."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index]["role"] == "user":
                return self.messages[index:]
        return self.messages


def _done(call: Mapping[str, Any], results: Mapping[str, str]) -> Done:
    function = call["function"]
    arguments = _json(function["arguments"])
    return Done(
        id=call["id"],
        tool=function["name"],
        arguments=arguments if isinstance(arguments, dict) else {},
        result=_json(results[call["id"]]) if call["id"] in results else None,
    )


def _json(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value


class Parsed(Sequence[Mapping[str, Any]]):
    """Read kept messages when they are asked for, so that a script that looks at the last one costs the same always."""

    def __init__(self, bodies: Sequence[bytes]) -> None:
        self._bodies = bodies

    def __len__(self) -> int:
        return len(self._bodies)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._bodies[index]
        return json.loads(chosen) if isinstance(chosen, bytes) else [json.loads(body) for body in chosen]
