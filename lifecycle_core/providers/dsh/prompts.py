"""What a native turn is told: the beginning of an episode, or what became of the calls that it was left with."""

from collections.abc import Mapping
from typing import Final

from lifecycle_core.contract import digests, ports
from lifecycle_core.contract.digests import Json

PUT_OFF: Final = (
    "This call has no result yet: it waits for people. "
    "What became of it will be told in the next message, an object of the kind interaction-response."
)
GO_ON: Final = "The turn was interrupted. Go on where it stopped."


def text(turn: ports.TurnInput, tools: Mapping[str, str]) -> str:
    """Return the input of a turn; `tools` has the tool of each call that the session holds."""
    if isinstance(turn, ports.Begin):
        return f"{turn.purpose}\n\nInput:\n{digests.canonical(turn.input).decode()}"
    if not turn.results:
        return GO_ON
    results: list[Json] = [_told(result, tools) for result in turn.results]
    return digests.canonical({"kind": "interaction-response", "results": results}).decode()


def _told(result: ports.ToolResult, tools: Mapping[str, str]) -> Json:
    return {
        "call": result.call_id,
        "tool": tools[result.call_id],
        "outcome": result.outcome,
        "content": result.content,
    }
