"""The calls of one answer: run together once, and each result given to the harness once."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lifecycle_core.contract import digests, errors, ports
from lifecycle_core.providers.dsh.admitted import PREFIX

NOT_OFFERED: Final = "there is no tool of this name"
# Asking without the capability is not a call of nothing, but a failure of its own, and the engine's to find.
ASK: Final = "workflow_request_input"


def ours(answer: ports.ModelAnswer, offered: frozenset[str]) -> ports.ModelAnswer:
    """Return an answer with our tools' own names; of what was not offered, only a question is told as it was."""
    calls = tuple(_ours(call, offered) for call in answer.calls)
    return ports.ModelAnswer(
        text=answer.text, reasoning=answer.reasoning, calls=calls, finish=answer.finish, usage=answer.usage
    )


def _ours(call: ports.ProposedCall, offered: frozenset[str]) -> ports.ProposedCall:
    name = call.tool.removeprefix(PREFIX)
    if call.tool.startswith(PREFIX) and name in offered:
        return ports.ProposedCall(
            call_id=call.call_id, tool=name, arguments=call.arguments, problem=call.problem
        )
    tool, arguments = (ASK, call.arguments) if name == ASK and ASK not in offered else (call.tool, None)
    return ports.ProposedCall(call_id=call.call_id, tool=tool, arguments=arguments, problem=NOT_OFFERED)


class Batch:
    """What became of the calls of the last answer."""

    def __init__(self, calls: Sequence[ports.ProposedCall] = ()) -> None:
        self.calls = tuple(calls)
        self._asked: set[str] = set()
        self._results: Mapping[str, ports.ToolResult] = {}

    @property
    def has_run(self) -> bool:
        return len(self._results) == len(self.calls)

    @property
    def left_out(self) -> list[str]:
        """Return the tools of the calls that the harness has to ask for and has not."""
        return [call.tool for call in self.calls if not _is_refused(call) and call.call_id not in self._asked]

    def take(self, tool: str, arguments: dict[str, Any]) -> ports.ProposedCall | None:
        """Find the call that the harness asks for; each is found once."""
        candidates = [call for call in self.calls if call.tool == tool and call.call_id not in self._asked]
        same = [
            call for call in candidates if call.arguments is not None and _same(call.arguments, arguments)
        ]
        # The harness reads numbers and repeated keys less strictly, so these cannot be compared; they only get refused.
        unclear = [call for call in candidates if call.arguments is None and not _is_refused(call)]
        for call in [*same, *unclear]:
            self._asked.add(call.call_id)
            return call
        return None

    def settle(self, results: Sequence[ports.ToolResult]) -> None:
        """Take the results of all calls."""
        self._results = {result.call_id: result for result in results}

    def result(self, call: ports.ProposedCall) -> ports.ToolResult:
        """Return what became of a call, once the batch has run."""
        return self._results[call.call_id]


def _is_refused(call: ports.ProposedCall) -> bool:
    """Tell whether the harness refuses a call by itself, because it knows no such tool."""
    return call.problem == NOT_OFFERED


def _same(first: Any, second: Any) -> bool:
    try:
        return digests.canonical(first) == digests.canonical(second)
    except errors.NotCanonical:
        return False
