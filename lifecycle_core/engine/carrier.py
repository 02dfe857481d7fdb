"""The only way of a provider to a model, a tool and the journal."""

from collections.abc import Sequence

from lifecycle_core.contract import stages
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import (
    Conversation,
    InputAsked,
    ModelAnswer,
    NativeEvent,
    Output,
    ProposedCall,
    ToolResult,
    TurnInterrupted,
)
from lifecycle_core.contract.subjects import Moment, Passing
from lifecycle_core.engine import (
    calls,
    model_calls,
    model_stages,
    output,
    settling,
    speech,
    tool_runs,
)
from lifecycle_core.engine.chain import FAILED, StageFailed
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.turn import PROTOCOL_ERROR, Turn

BUDGET = "BUDGET_EXHAUSTED"


class TurnCarrier:
    """Carry the calls of one native turn."""

    def __init__(self, episode: Episode, turn: Turn) -> None:
        self._episode = episode
        self._turn = turn
        self._output = output.Folder(episode, turn)
        self._step: Passing | None = None

    def call_model(
        self, perform: model_calls.Perform, conversation: Conversation | None = None
    ) -> ModelAnswer:
        """Ask the model, unless the turn is over or its budget spent."""
        episode = self._episode
        self._output.flush()
        self._stop_if_over()
        self._check_budget(episode.model_turn < episode.agent.limits.model_turns, "model turns")
        self._check_budget(episode.tokens < episode.agent.limits.tokens, "tokens")
        self._begin_step()
        try:
            return model_calls.ask(episode, self._output, perform, conversation)
        except model_stages.Refused as refused:
            self._turn.fail(refused.code, str(refused), retry="never")
        except StageFailed as failed:
            self._turn.fail(FAILED, str(failed), retry="never")
        raise TurnInterrupted

    def call_tools(self, proposed: Sequence[ProposedCall], *, grace_ms: int = 0) -> list[ToolResult]:
        """Run what needs nobody and ask about the rest; the workflow tools speak last, after the calls beside them."""
        self._check_identities([call.call_id for call in proposed])
        self._episode.tool_calls += len(proposed)
        self._check_budget(self._episode.tool_calls <= self._episode.agent.limits.tool_calls, "tool calls")
        admissions = [calls.admit(self._episode, index, call) for index, call in enumerate(proposed)]
        results = {admission.call.call: admission.result for admission in admissions}
        for admission in admissions:
            if admission.next == "run":
                results[admission.call.call] = tool_runs.run(self._episode, self._turn, admission.call)
                self._stop_if_uncertain()
        for admission in admissions:
            if admission.next == "speak":
                results[admission.call.call] = speech.speak(self._episode, self._turn, admission.call)
        if None in results.values():
            results |= settling.within(self._episode, self._turn, grace_ms)
        settled = [results[admission.call.call] for admission in admissions]
        return [settling.told(completed) for completed in settled if completed is not None]

    def holds_secret(self, value: Json) -> bool:
        """Tell whether a value carries a leased secret."""
        return self._episode.holds_secret(value)

    def emit(self, event: NativeEvent) -> None:
        """Take in what the provider reports."""
        match event:
            case InputAsked():
                self._output.flush()
                speech.ask(self._episode, self._turn, event)
            case Output():
                self._output.add(event.content)
            case _:
                self._turn.note(event)

    def keep(self, message: bytes) -> None:
        """Store a session message with the next commit."""
        self._episode.ledger.keep(message)

    def end(self) -> None:
        """Keep what the provider said last, with the next commit."""
        self._output.flush()
        self.end_step()

    def _begin_step(self) -> None:
        """Show that a step begins; it ends when the next one does, or with the turn."""
        self.end_step()
        self._episode.step += 1
        self._step = Passing(identity=self._episode.identity, trusted=self._episode.trusted)
        self._episode.chain.show(Moment(stage=stages.STEP_RUN, when="before", subject=self._step))

    def end_step(self) -> None:
        """Show that the step is over, if one was begun."""
        if self._step is not None:
            over, self._step = self._step, None
            self._episode.chain.show(Moment(stage=stages.STEP_RUN, when="after", subject=over))

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
        """Stop a turn that has ended, or asks: the model's next turn waits for the answer."""
        if self._turn.over or self._turn.pending or self._episode.interruption():
            raise TurnInterrupted

    def _stop_if_uncertain(self) -> None:
        if self._turn.uncertain:
            raise TurnInterrupted
