"""Ask a model, and ask again only where nothing of an answer came and the failure itself says that this may help.

Each attempt is a fact of its own; the turn counts once, when it has answered.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from lifecycle_core.contract import events, stages
from lifecycle_core.contract.ports import Conversation, ModelAnswer, ModelCallFailed, TurnInterrupted
from lifecycle_core.contract.subjects import ModelCall, ModelOutcome, Moment
from lifecycle_core.engine import model_stages
from lifecycle_core.engine.chain import FAILED, StageFailed
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.output import Folder

type Perform = Callable[[Callable[[str], None]], ModelAnswer]

# Up to a quarter of the pause more, in this many steps by the invocation, so that those refused together come back apart.
SPREAD: Final = 256


def ask(episode: Episode, output: Folder, perform: Perform, conversation: Conversation | None) -> ModelAnswer:
    """Return the answer of the next model turn.

    Raises what `perform` raises, `TurnInterrupted`, `model_stages.Refused` and `chain.StageFailed`.
    """
    episode.model_turn += 1
    try:
        answer = _Asking(episode, output, perform, conversation).answer()
    except BaseException:
        episode.model_turn -= 1  # It has not answered: whoever asks again asks under its number.
        raise
    return answer


class _Asking:
    """One model turn: asked as often as the failures and the interceptors want, answered once."""

    def __init__(
        self, episode: Episode, output: Folder, perform: Perform, conversation: Conversation | None
    ) -> None:
        self._episode = episode
        self._output = output
        self._perform = perform
        self._conversation = conversation
        self._attempt = 0
        self._used: Counter[str] = Counter()
        self._took_ms = 0
        self._last: ModelAnswer | None = None

    def answer(self) -> ModelAnswer:
        """Ask, with the plugins around it, and note what came of it."""
        try:
            return self._respond(self._asked())
        except (StageFailed, model_stages.Refused) as failed:
            if self._attempt:
                self._episode.ledger.note(_left(self._episode, self._attempt, FAILED, str(failed)))
            raise

    def _asked(self) -> ModelOutcome:
        episode, chain = self._episode, self._episode.chain
        given = model_stages.subject(episode, self._conversation)
        call = model_stages.admit(episode, self._conversation, given)
        chain.show(Moment(stage=stages.MODEL_CALL, when="before", subject=call))
        outcome, ended = None, "failed"
        try:
            outcome = chain.around(
                stages.MODEL_CALL, call, lambda call: self._carry(call, given), model_stages.understood
            )
            ended = "done"
        finally:
            moment = Moment(stage=stages.MODEL_CALL, when="after", subject=call, outcome=outcome, ended=ended)
            chain.show(moment)
        return outcome

    def _respond(self, outcome: ModelOutcome) -> ModelAnswer:
        """Note the answer as the plugins let it be; of several, the tokens count together."""
        told = self._episode.chain.transform(stages.MODEL_RESPONSE, outcome)
        answer = self._last if self._last is not None and not outcome.by else OWN
        answer = replace(answer, text=str(told.text), usage=dict(self._used))
        self._episode.ledger.note(_responded(self._episode, answer, self._took_ms, by=outcome.by))
        self._episode.tokens += answer.usage.get("input", 0) + answer.usage.get("output", 0)
        moment = Moment(stage=stages.MODEL_RESPONSE, when="after", subject=told, outcome=told)
        self._episode.chain.show(moment)
        return answer

    def _carry(self, call: ModelCall, given: ModelCall) -> ModelOutcome:
        """Ask the model, again where an interceptor repeats the call."""
        if self._last is not None:
            told = "an extension asks again"
            self._episode.ledger.note(_left(self._episode, self._attempt, "REPEATED", told, retried=True))
        model_stages.put(self._episode, self._conversation, given, call)
        self._last = self._ask()
        return model_stages.outcome(call, self._last)

    def _ask(self) -> ModelAnswer:
        failures = 0
        while True:
            self._attempt += 1
            failures += 1
            heard = _Heard(self._output)
            try:
                return self._once(heard)
            except ModelCallFailed as failure:
                wait_ms = None if heard.anything else _wait_ms(self._episode, failure, failures)
                retried = wait_ms is not None
                self._episode.ledger.note(_failed(self._episode, failure, self._attempt, retried=retried))
                if wait_ms is None:
                    raise
            self._episode.ledger.commit()
            if self._episode.interruption.wait(wait_ms / 1000):
                raise TurnInterrupted

    def _once(self, heard: "_Heard") -> ModelAnswer:
        """Make one call; that it is made is durable before it leaves."""
        episode = self._episode
        episode.ledger.note(
            events.ModelRequested(
                model_turn=episode.model_turn, model=episode.record.model, attempt=self._attempt
            )
        )
        episode.ledger.commit()
        started = episode.services.clock.monotonic_ms()
        try:
            answer = self._perform(heard.add)
        finally:
            self._output.forget()
            self._took_ms += episode.services.clock.monotonic_ms() - started
        self._output.check()
        self._used.update(answer.usage)
        return answer


# What an interceptor says in the place of a model makes no calls.
OWN: Final = ModelAnswer(text="", reasoning="", calls=(), finish="stop", usage={})


class _Heard:
    """Remember whether anything of an answer came."""

    def __init__(self, output: Folder) -> None:
        self.anything = False
        self._output = output

    def add(self, text: str) -> None:
        self.anything = True
        self._output.add(text)


def _responded(episode: Episode, answer: ModelAnswer, took_ms: int, by: str) -> events.ModelResponded:
    return events.ModelResponded(
        model_turn=episode.model_turn,
        text=answer.text,
        reasoning=answer.reasoning,
        calls=[{"call_id": call.call_id, "tool": call.tool} for call in answer.calls],
        finish=answer.finish,
        usage=dict(answer.usage),
        took_ms=took_ms,
        by=by,
    )


def _failed(episode: Episode, failure: ModelCallFailed, attempt: int, *, retried: bool) -> events.ModelFailed:
    return events.ModelFailed(
        model_turn=episode.model_turn,
        attempt=attempt,
        code=failure.code,
        detail=failure.detail,
        retry_after_ms=failure.retry_after_ms,
        retried=retried,
    )


def _left(
    episode: Episode, attempt: int, code: str, detail: str, *, retried: bool = False
) -> events.ModelFailed:
    """Say of an attempt that the model answered and plugins did not take the answer; where they ask again, its tokens count."""
    return events.ModelFailed(
        model_turn=episode.model_turn,
        attempt=attempt,
        code=code,
        detail=detail,
        retry_after_ms=None,
        retried=retried,
    )


def _wait_ms(episode: Episode, failure: ModelCallFailed, attempt: int) -> int | None:
    """Return how long to wait before the next attempt; nothing where there is none."""
    timing, interruption = episode.services.timing, episode.interruption
    if not failure.retryable or attempt > len(timing.model_pauses_ms) or interruption():
        return None
    pause = timing.model_pauses_ms[attempt - 1]
    pause += pause * (episode.record.id.int % SPREAD) // (4 * SPREAD)
    wait_ms = max(pause, failure.retry_after_ms or 0)
    if wait_ms > timing.model_patience_ms:
        return None  # To ask sooner than the server wants would only be refused again.
    deadline, now = interruption.deadline_ms, episode.services.clock.monotonic_ms()
    return wait_ms if deadline is None or now + wait_ms < deadline else None
