"""Carry one tool call through the interceptors to the world and back.

Every attempt is intended and committed before it leaves. What an interceptor makes of a call is a new call: it is checked,
judged and, where people have to be asked about it or have approved another one, asked about; an approved call runs once.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

from lifecycle_core.contract import events, stages
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.frozen import draft, freeze
from lifecycle_core.contract.ports import BindingChanged, ToolError, TurnInterrupted
from lifecycle_core.contract.subjects import Moment, ToolCall, ToolOutcome
from lifecycle_core.engine import effects, tool_stages
from lifecycle_core.engine.chain import FAILED, StageFailed
from lifecycle_core.engine.effects import Sent
from lifecycle_core.engine.episode import Episode, PlannedCall
from lifecycle_core.engine.turn import Turn


class _Over(Exception):
    """The call goes no further here: it has got its result in another way, or none yet."""

    def __init__(self, reason: str, completed: events.ToolCompleted | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.completed = completed


@dataclass
class _Run:
    """A call on its way through the interceptors; `sent` is what the last attempt gave, `call` what it was made with,
    `given` what the plugins were given."""

    episode: Episode
    turn: Turn
    call: PlannedCall
    given: ToolCall
    sent: Sent | None = None
    took_ms: int = 0
    rewritten: bool = False
    reconciled: bool = False

    @classmethod
    def of(cls, episode: Episode, turn: Turn, call: PlannedCall, **found: Any) -> Self:
        """Show a call to plugins; `found` says what is known of it already."""
        given = tool_stages.subject(episode, episode.tools[call.tool].spec, call)
        return cls(episode, turn, call, given, **found)

    def carry(self, subject: ToolCall) -> ToolOutcome:
        """Let the call reach the world, once more if it has been there. Raises `_Over`."""
        if self.sent is not None:
            self._begin_again(self.sent)
        self._take_arguments(subject)
        try:
            self.sent = effects.send(self.episode, self.call, rewritten=self.rewritten)
        except BindingChanged:
            reason = "what it would change has changed since it was approved"
            raise _Over("asked again", effects.ask_again(self.episode, self.call, reason)) from None
        except effects.Lost as lost:
            self.turn.lose(str(lost), open_intents=(self.call.call,))
            raise _Over("unknown", None) from lost
        self.took_ms += self.sent.took_ms
        return _outcome(subject, self.sent)

    def finish(self, outcome: ToolOutcome) -> events.ToolCompleted:
        """Give the call its result: what the world said, or what an interceptor says in its place, as the agent is told it."""
        content: Json = draft(outcome.content)
        if self.sent is None:
            return self._settle("answered" if outcome.ok else "refused", content, by=outcome.by)
        if outcome.by:
            self._note_attempt(self.sent)
        try:
            content = tool_stages.result(self.episode, self.given, content, ok=outcome.ok)
        except StageFailed as failed:
            return self.give_up(failed)
        return self._settle(self._carried_out(outcome.ok), content, by=outcome.by)

    def give_up(self, failed: StageFailed) -> events.ToolCompleted:
        """Tell the agent that plugins failed, and whether the call was carried out before they did."""
        if self.sent is None:
            return effects.refuse(self.episode, self.call, FAILED, str(failed))
        self._note_attempt(self.sent)
        detail = f"The call was carried out, and its result is withheld: {failed}."
        return self._settle("failed", effects.error_of(FAILED, detail))

    def _begin_again(self, sent: Sent) -> None:
        """Keep what the last attempt gave, and see whether there may be another one."""
        self._note_attempt(sent)
        if self.episode.interruption():
            raise _Over("interrupted", self.finish(_outcome(self.given, sent)))
        if self.call.approval is not None and self.call.effect_class not in effects.REPEATABLE:
            detail = "The call was carried out once, as it was approved; an extension wanted to repeat it."
            raise _Over("refused", self._settle("failed", effects.error_of("REPEAT_NOT_APPROVED", detail)))
        self.call = replace(self.call, attempt=self.call.attempt + 1)

    def _take_arguments(self, subject: ToolCall) -> None:
        """Take over what interceptors made of the arguments, if that may run without anybody being asked."""
        if subject.arguments is self.given.arguments and not self.rewritten:
            return
        episode, spec = self.episode, self.episode.tools[self.call.tool].spec
        try:
            changed = tool_stages.rewritten(episode, spec, self.call, subject)
            if changed.arguments_digest == self.call.arguments_digest:
                return
            changed = episode.prepare(changed)
        except ToolError as problem:
            raise self._refused(problem.code, problem.detail) from problem
        verdict = tool_stages.judge(episode, spec, changed)
        if verdict.outcome == "refuse":
            raise self._refused("REFUSED", f"{verdict.rule}: {verdict.reason}")
        if changed.approval is not None or verdict.outcome != "allow":
            reason = "an extension has changed the call"
            raise _Over("asked again", effects.ask_again(episode, changed, reason))
        self.call, self.rewritten = changed, True

    def _refused(self, code: str, detail: str) -> _Over:
        """Say that the call may not be sent as an interceptor has changed it, and whether it was sent before that."""
        if self.sent is None:
            return _Over("refused", effects.refuse(self.episode, self.call, code, detail))
        told = f"The call was carried out; it was not repeated as an extension has changed it: {detail}."
        return _Over("refused", self._settle("failed", effects.error_of(code, told)))

    def _carried_out(self, ok: bool) -> events.Outcome:
        if not ok:
            return "failed"
        return "edited" if self.call.edited else "executed"

    def _note_attempt(self, sent: Sent) -> None:
        self.episode.ledger.note(
            events.ToolAttempted(
                call=self.call.call,
                tool=self.call.tool,
                attempt=self.call.attempt,
                ok=sent.ok,
                content=sent.content,
            )
        )

    def _settle(self, outcome: events.Outcome, content: Json, by: str = "") -> events.ToolCompleted:
        told = effects.kept(self.episode, content)
        measured = {"took_ms": self.took_ms, "reconciled": self.reconciled}
        return effects.settle(self.episode, self.call, outcome, told, by=by, **measured)


def run(episode: Episode, turn: Turn, call: PlannedCall) -> events.ToolCompleted | None:
    """Run a call and return its outcome, or nothing when it has none yet (asked again, or its outcome is unknown)."""
    if episode.interruption():
        raise TurnInterrupted
    through = _Run.of(episode, turn, call)
    subject = through.given
    episode.chain.show(Moment(stage=stages.TOOL_CALL, when="before", subject=subject))
    outcome, ended = None, "interrupted"
    try:
        outcome = episode.chain.around(stages.TOOL_CALL, subject, through.carry, tool_stages.understood)
        ended = "done"
        return through.finish(outcome)
    except _Over as over:
        ended = over.reason
        return over.completed
    except StageFailed as failed:
        ended = "failed"
        return through.give_up(failed)
    finally:
        episode.chain.show(
            Moment(stage=stages.TOOL_CALL, when="after", subject=subject, outcome=outcome, ended=ended)
        )


def found(episode: Episode, turn: Turn, call: PlannedCall, content: Json) -> events.ToolCompleted:
    """Give a call its result that was interrupted and turned out to have been carried out."""
    sent = Sent(True, episode.redactor.redact(effects.kept(episode, content)), 0)
    through = _Run.of(episode, turn, call, sent=sent, reconciled=True)
    return through.finish(_outcome(through.given, sent))


def _outcome(call: ToolCall, sent: Sent) -> ToolOutcome:
    return call.answered(freeze(sent.content), ok=sent.ok)
