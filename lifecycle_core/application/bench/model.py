"""A model that calls one tool again and again and then completes, and two tools that do nothing."""

import time
from collections.abc import Sequence
from typing import Final

from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import (
    EffectClass,
    ModelAnswer,
    Preparation,
    ProposedCall,
    Tool,
    ToolContext,
)
from lifecycle_core.testing.answers import Answer, Call
from lifecycle_core.testing.chat_requests import ChatRequest
from lifecycle_core.tools.specs import NotReconcilable, spec
from lifecycle_core.tools.workflow import COMPLETE


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
    """Call a tool so many times, one call in each model turn, and note when it is asked for the next one.

    It answers as a script does behind a wire, and at once in process, where nothing is measured but the console.
    """

    def __init__(self, tool: str, calls: int) -> None:
        self._tool = tool
        self._calls = calls
        self.asked_ns: list[int] = []

    def script(self, request: ChatRequest) -> Answer:
        """Say what comes next, however long the chat is in the same time."""
        number, tool, arguments = self._next()
        call = Call(tool=tool, arguments=arguments, id=f"call_{number}")
        return Answer(text=f"This is call {number}.", calls=(call,))

    def respond(self, model: str, messages: Sequence[bytes]) -> ModelAnswer:
        """Say the same in process."""
        number, tool, arguments = self._next()
        return ModelAnswer(
            text=f"This is call {number}.",
            reasoning="",
            calls=(ProposedCall(call_id=f"call_{number}", tool=tool, arguments=arguments),),
            finish="tool-calls",
            usage={"input": 100, "output": 20, "cached": 0},
        )

    def _next(self) -> tuple[int, str, dict[str, Json]]:
        self.asked_ns.append(time.perf_counter_ns())
        number = len(self.asked_ns)
        if number > self._calls:
            return number, COMPLETE, {"result": {"calls": self._calls}}
        return number, self._tool, {"number": number, "note": "Nothing has to be done, and it is done well."}
