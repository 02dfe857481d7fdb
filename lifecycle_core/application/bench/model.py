"""A model that calls one tool again and again and then completes, and two tools that do nothing."""

import time
from typing import Final

from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import EffectClass, Preparation, Tool, ToolContext
from lifecycle_core.testing.answers import Answer, Call
from lifecycle_core.testing.chat_requests import ChatRequest
from lifecycle_core.tools.specs import NotReconcilable, spec


class NoOp(NotReconcilable):
    """Do nothing, under an effect class that needs nobody or a person."""

    def __init__(self, name: str, effect_class: EffectClass) -> None:
        number: Json = {"type": "integer", "minimum": 1}
        note: Json = {"type": "string", "maxLength": 200}
        properties = {"number": number, "note": note}
        self.spec = spec(name, "bench", "Do nothing.", effect_class, properties, ["number", "note"])

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        return Preparation()

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        return {"number": arguments["number"], "done": True}


UNGATED: Final = "look"
GATED: Final = "act"
TOOLS: Final[dict[str, Tool]] = {
    UNGATED: NoOp(UNGATED, EffectClass.READ_ONLY),
    GATED: NoOp(GATED, EffectClass.UNSAFE),
}


class Caller:
    """Call a tool so many times, one call in each model turn, and note when it is asked for the next one."""

    def __init__(self, tool: str, calls: int) -> None:
        self._tool = tool
        self._calls = calls
        self.asked_ns: list[int] = []

    def __call__(self, request: ChatRequest) -> Answer:
        """Say what comes next, however long the chat is in the same time."""
        self.asked_ns.append(time.perf_counter_ns())
        number = len(self.asked_ns)
        if number > self._calls:
            return Answer(
                calls=(Call(tool="workflow_complete", arguments={"result": {"calls": self._calls}}),)
            )
        arguments: dict[str, Json] = {
            "number": number,
            "note": "Nothing has to be done, and it is done well.",
        }
        return Answer(text=f"This is call {number}.", calls=(Call(tool=self._tool, arguments=arguments),))
