"""Say whether a request to the model is the admitted one: this model, these instructions, these tools and no others."""

import json
from collections.abc import Sequence
from typing import Any, Final

from lifecycle_core.contract import ports

PREFIX: Final = "mcp__lc__"


class Admitted:
    """What the harness may ask the model with."""

    def __init__(self, request: ports.SessionRequest) -> None:
        self._model = request.route.model
        self._instructions = request.instructions
        self._tools = _in_order([_offered(spec) for spec in request.tools])

    def problem(self, body: bytes) -> str:
        """Return what is wrong with a request, or nothing."""
        try:
            asked = json.loads(body)
        except ValueError:
            return "a request to the model is not JSON"
        if not isinstance(asked, dict):
            return "a request to the model is no object"
        if asked.get("model") != self._model:
            return "another model was asked than the admitted one"
        if asked.get("stream") is not True:
            return "an answer was asked for that does not stream"
        if _text(asked.get("system")) != self._instructions:
            return "the system text is not the admitted one"
        if _in_order(asked.get("tools", [])) != self._tools:
            return f"other tools were offered than the admitted ones: {_names(asked.get('tools'))}"
        return ""


def _offered(spec: ports.ToolSpec) -> dict[str, Any]:
    return {"name": PREFIX + spec.name, "description": spec.description, "input_schema": spec.input_schema}


def _text(system: Any) -> Any:
    """Return a system text, which may be absent or in blocks."""
    if isinstance(system, list):
        return "".join(str(block.get("text", "")) for block in system if isinstance(block, dict))
    return system if system is not None else ""


def _in_order(tools: Any) -> Any:
    """Return tools in the order of their names: the harness offers them in an order of its own."""
    named = isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)
    return sorted(tools, key=lambda tool: str(tool.get("name"))) if named else tools


def _names(tools: Any) -> str:
    found: Sequence[Any] = tools if isinstance(tools, list) else ()
    return ", ".join(str(tool.get("name")) for tool in found if isinstance(tool, dict)) or "none"
