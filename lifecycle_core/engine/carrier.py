"""The only way of a provider to a model, a tool and the journal."""

from collections.abc import Callable, Sequence

from lifecycle_core.contract import events
from lifecycle_core.contract.ports import (
    ModelAnswer,
    NativeEvent,
    Output,
    ProposedCall,
    ToolResult,
    TurnInterrupted,
)
from lifecycle_core.engine import calls, effects, settling, speech
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.turn import PROTOCOL_ERROR, Turn

BUDGET = "BUDGET_EXHAUSTED"


class TurnCarrier:
    """Carry the calls of one native turn."""

    def __init__(self, episode: Episode, turn: Turn) -> None:
        self._episode = episode
        self._turn = turn
        self._output = _OutputFolder(episode)

    def call_model(self, perform: Callable[[Callable[[str], None]], ModelAnswer]) -> ModelAnswer:
        """Run one model call between two facts; the first is durable before the call leaves."""
        episode = self._episode
        self._output.flush()
        self._stop_if_over()
        self._check_budget(episode.model_turn < episode.agent.limits.model_turns, "model turns")
        self._check_budget(episode.tokens < episode.agent.limits.tokens, "tokens")
        episode.model_turn += 1
        episode.ledger.note(events.ModelRequested(model_turn=episode.model_turn, model=episode.record.model))
        episode.ledger.commit()
        started = episode.services.clock.monotonic_ms()
        try:
            answer = perform(self._output.add)
        finally:
            self._output.forget()
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

    def call_tools(self, proposed: Sequence[ProposedCall], *, grace_ms: int = 0) -> list[ToolResult]:
        """Run what needs nobody and ask about the rest; the workflow tools speak last, after the calls beside them."""
        self._check_identities([call.call_id for call in proposed])
        self._episode.tool_calls += len(proposed)
        self._check_budget(self._episode.tool_calls <= self._episode.agent.limits.tool_calls, "tool calls")
        admissions = [calls.admit(self._episode, index, call) for index, call in enumerate(proposed)]
        results = {admission.call.call: admission.result for admission in admissions}
        for admission in admissions:
            if admission.next == "run":
                results[admission.call.call] = effects.run(self._episode, self._turn, admission.call)
                self._stop_if_uncertain()
        for admission in admissions:
            if admission.next == "speak":
                results[admission.call.call] = speech.speak(self._episode, self._turn, admission.call)
        if None in results.values():
            results |= settling.within(self._episode, self._turn, grace_ms)
        settled = [results[admission.call.call] for admission in admissions]
        return [settling.told(completed) for completed in settled if completed is not None]

    def emit(self, event: NativeEvent) -> None:
        """Take in what the provider reports."""
        if isinstance(event, Output):
            self._output.add(event.content)
        self._turn.note(event)

    def keep(self, message: bytes) -> None:
        """Store a session message with the next commit."""
        self._episode.ledger.keep(message)

    def end(self) -> None:
        """Keep what the provider said last, with the next commit."""
        self._output.flush()

    def _check_identities(self, identities: list[str]) -> None:
        """Fail a turn with two calls that cannot be told apart, before anybody is asked: one would be shown and both run."""
        if len(set(identities)) != len(identities):
            self._turn.fail(PROTOCOL_ERROR, "two calls of one model turn have the same identity")
            raise TurnInterrupted

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

    def forget(self) -> None:
        """Forget what was not yet shown: the model's answer holds it."""
        self._text = ""
        self._stream = self._episode.stream()

    def flush(self) -> None:
        """Note what was not yet shown and stands in no answer."""
        self._text += self._stream.finish()
        if self._text:
            self._note()

    def _commit(self) -> None:
        self._note()
        self._episode.ledger.commit()

    def _note(self) -> None:
        self._episode.output_sequence += 1
        frame = events.OutputProduced(
            model_turn=self._episode.model_turn, sequence=self._episode.output_sequence, content=self._text
        )
        self._text = ""
        self._episode.ledger.note(frame)
