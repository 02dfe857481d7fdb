"""A carrier that keeps everything in memory, for providers and scripts without an engine."""

from collections.abc import Callable, Mapping, Sequence

from lifecycle_core.contract import digests, events, ports
from lifecycle_core.contract.digests import Json

type Act = Callable[[dict[str, Json]], Json]


class Waits(Exception):
    """What a tool raises whose call waits for people."""


class MemoryCarrier:
    """Carry a turn: tools are functions by name, a tool that is missing waits for people."""

    def __init__(self, tools: Mapping[str, Act] | None = None) -> None:
        self.tools = dict(tools or {})
        self.secrets: tuple[str, ...] = ()
        self.events: list[ports.NativeEvent] = []
        self.kept: list[bytes] = []
        self.text = ""
        self.answers: list[ports.ModelAnswer] = []
        self.completion: Json = None
        self.waiting: dict[str, ports.ProposedCall] = {}
        self._turn: list[ports.ProposedCall] = []
        self._results: dict[str, ports.ToolResult] = {}
        self._over = False

    def call_model(
        self,
        perform: Callable[[Callable[[str], None]], ports.ModelAnswer],
        conversation: ports.Conversation | None = None,
    ) -> ports.ModelAnswer:
        if self._over:
            raise ports.TurnInterrupted
        self.answers.append(perform(self._say))
        return self.answers[-1]

    def _say(self, text: str) -> None:
        self.text += text

    def call_tools(self, calls: Sequence[ports.ProposedCall], *, grace_ms: int = 0) -> list[ports.ToolResult]:
        self._turn = list(calls)
        for call in calls:
            self._run(call)
        if self.waiting:
            raise ports.TurnSuspended
        return list(self.resume().results)

    def _run(self, call: ports.ProposedCall) -> None:
        if call.arguments is None:
            self.settle(call.call_id, {"error": "ARGUMENTS_INVALID", "detail": call.problem}, "refused")
        elif call.tool == "workflow_complete":
            self.completion = call.arguments["result"]
            self._over = True
            self.settle(call.call_id, "accepted")
        elif call.tool in self.tools:
            self._act(call, call.arguments)
        else:
            self.waiting[call.call_id] = call

    def _act(self, call: ports.ProposedCall, arguments: dict[str, Json]) -> None:
        try:
            self.settle(call.call_id, self.tools[call.tool](arguments))
        except ports.ToolError as problem:
            self.settle(call.call_id, {"error": problem.code, "detail": problem.detail}, "failed")
        except Waits:
            self.waiting[call.call_id] = call

    def settle(self, call_id: str, content: Json, outcome: events.Outcome = "executed") -> None:
        """Give a call its result."""
        self.waiting.pop(call_id, None)
        text = content if isinstance(content, str) else digests.canonical(content).decode()
        ok = outcome in ("executed", "edited", "answered")
        self._results[call_id] = ports.ToolResult(call_id=call_id, outcome=outcome, content=text, ok=ok)

    def resume(self) -> ports.Resume:
        """Return how a restored session goes on."""
        return ports.Resume(results=tuple(self._results[call.call_id] for call in self._turn))

    def emit(self, event: ports.NativeEvent) -> None:
        self.events.append(event)

    def keep(self, message: bytes) -> None:
        self.kept.append(message)

    def holds_secret(self, value: Json) -> bool:
        return any(secret in str(value) for secret in self.secrets)
