"""The only way of a provider to a model, a tool and the journal."""

import uuid
from collections.abc import Callable, Sequence

from lifecycle_core.contract import digests, events
from lifecycle_core.contract.ports import (
    InputAsked,
    ModelAnswer,
    NativeEvent,
    Output,
    ProposedCall,
    StructuredCompletion,
    ToolError,
    ToolResult,
    TurnInterrupted,
    TurnSuspended,
)
from lifecycle_core.engine import calls, effects
from lifecycle_core.engine.episode import Episode, PlannedCall
from lifecycle_core.engine.turn import Turn

BUDGET = "BUDGET_EXHAUSTED"
REFUSALS = frozenset({"failed", "refused", "denied", "expired", "cancelled"})


class TurnCarrier:
    """Carry the calls of one native turn."""

    def __init__(self, episode: Episode, turn: Turn) -> None:
        self._episode = episode
        self._turn = turn
        self._output = _OutputFolder(episode)

    def call_model(self, perform: Callable[[Callable[[str], None]], ModelAnswer]) -> ModelAnswer:
        """Run one model call between two facts; the first is durable before the call leaves."""
        episode = self._episode
        self._stop_if_over()
        self._check_budget(episode.model_turn < episode.agent.limits.model_turns, "model turns")
        self._check_budget(episode.tokens < episode.agent.limits.tokens, "tokens")
        episode.model_turn += 1
        episode.ledger.note(events.ModelRequested(model_turn=episode.model_turn, model=episode.record.model))
        episode.ledger.commit()
        started = episode.services.clock.monotonic_ms()
        answer = perform(self._output.add)
        self._output.end()
        episode.tokens += answer.usage.get("input", 0) + answer.usage.get("output", 0)
        episode.ledger.note(self._responded(answer, episode.services.clock.monotonic_ms() - started))
        return answer

    def _responded(self, answer: ModelAnswer, took_ms: int) -> events.ModelResponded:
        return events.ModelResponded(
            model_turn=self._episode.model_turn,
            text=answer.text,
            reasoning=answer.reasoning,
            calls=[{"call_id": call.call_id, "tool": call.tool} for call in answer.calls],
            finish=answer.finish,
            usage=dict(answer.usage),
            took_ms=took_ms,
        )

    def call_tools(self, proposed: Sequence[ProposedCall]) -> list[ToolResult]:
        """Run what needs nobody and ask about the rest; the workflow tools speak last, after the calls beside them."""
        self._episode.tool_calls += len(proposed)
        self._check_budget(self._episode.tool_calls <= self._episode.agent.limits.tool_calls, "tool calls")
        admissions = [calls.admit(self._episode, index, call) for index, call in enumerate(proposed)]
        results = {admission.call.call_id: admission.result for admission in admissions}
        for admission in admissions:
            if admission.next == "run":
                results[admission.call.call_id] = effects.run(self._episode, self._turn, admission.call)
                self._stop_if_uncertain()
        for admission in admissions:
            if admission.next == "speak":
                results[admission.call.call_id] = self._speak(admission.call)
        settled = [completed for completed in results.values() if completed is not None]
        if len(settled) < len(results):
            raise TurnSuspended
        return [told(completed) for completed in settled]

    def _speak(self, call: PlannedCall) -> events.ToolCompleted | None:
        """Take in what a workflow tool says; a completion is answered at once, a question waits for people."""
        try:
            said = self._episode.services.workflow.signal(call.call_id, call.tool, call.arguments)
        except ToolError as problem:
            return effects.refuse(self._episode, call, problem.code, problem.detail)
        if isinstance(said, StructuredCompletion):
            self._turn.note(said)
            return effects.settle(self._episode, call, "executed", "accepted")
        self._ask(call, said)
        return None

    def _ask(self, call: PlannedCall, asked: InputAsked) -> None:
        first = self._turn.pending is None
        self._turn.note(asked)
        if not first or not self._episode.interaction:
            return
        services = self._episode.services
        self._episode.ledger.note(
            events.InputRequested(
                input=str(uuid.uuid4()),
                call=call.call,
                request_identity=asked.request_identity,
                prompt=asked.prompt,
                response_schema=asked.response_schema,
                expires_at=services.clock.now_ms() + services.timing.input_ms,
            )
        )

    def emit(self, event: NativeEvent) -> None:
        """Take in what the provider reports."""
        if isinstance(event, Output):
            self._output.add(event.content)
        self._turn.note(event)

    def keep(self, message: bytes) -> None:
        """Store a session message with the next commit."""
        self._episode.ledger.keep(message)

    def _check_budget(self, within: bool, what: str) -> None:
        if not within:
            self._turn.fail(BUDGET, f"the limit of {what} is reached", retry="never")
            raise TurnInterrupted

    def _stop_if_over(self) -> None:
        if self._turn.over or self._episode.interruption():
            raise TurnInterrupted

    def _stop_if_uncertain(self) -> None:
        if self._turn.uncertain:
            raise TurnInterrupted


def told(completed: events.ToolCompleted) -> ToolResult:
    """Return a call's result as the agent is told it: text as it is, anything else as canonical JSON."""
    content = completed.content
    text = content if isinstance(content, str) else digests.canonical(content).decode()
    return ToolResult(
        call_id=completed.call_id,
        outcome=completed.outcome,
        content=text,
        ok=completed.outcome not in REFUSALS,
    )


class _OutputFolder:
    """Fold streamed text into frames and commit at most one in every interval; the whole text follows with the answer."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._stream = episode.stream()
        self._text = ""
        self._since = episode.services.clock.monotonic_ms()

    def add(self, text: str) -> None:
        self._text += self._stream.feed(text)
        now = self._episode.services.clock.monotonic_ms()
        if self._text and now - self._since >= self._episode.services.timing.output_interval_ms:
            self._since = now
            self._commit()

    def end(self) -> None:
        """Forget what was not yet shown: the answer holds it."""
        self._text = ""
        self._stream = self._episode.stream()

    def _commit(self) -> None:
        self._episode.output_sequence += 1
        frame = events.OutputProduced(
            model_turn=self._episode.model_turn, sequence=self._episode.output_sequence, content=self._text
        )
        self._text = ""
        self._episode.ledger.note(frame)
        self._episode.ledger.commit()
