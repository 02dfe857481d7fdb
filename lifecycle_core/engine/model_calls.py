"""Ask a model, and ask again only where nothing of an answer came and the failure itself says that this may help.

Each attempt is a fact of its own; the turn counts once, when it has answered.
"""

from collections.abc import Callable
from typing import Final

from lifecycle_core.contract import events
from lifecycle_core.contract.ports import ModelAnswer, ModelCallFailed, TurnInterrupted
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.output import Folder

type Perform = Callable[[Callable[[str], None]], ModelAnswer]

# Up to a quarter of the pause more, in this many steps by the invocation, so that those refused together come back apart.
SPREAD: Final = 256


def ask(episode: Episode, output: Folder, perform: Perform) -> ModelAnswer:
    """Return the answer of the next model turn. Raises what `perform` raises, and `TurnInterrupted`."""
    episode.model_turn += 1
    try:
        answer = _ask(episode, output, perform)
    except BaseException:
        episode.model_turn -= 1  # It has not answered: whoever asks again asks under its number.
        raise
    episode.tokens += answer.usage.get("input", 0) + answer.usage.get("output", 0)
    return answer


def _ask(episode: Episode, output: Folder, perform: Perform) -> ModelAnswer:
    attempt = 1
    while True:
        heard = _Heard(output)
        try:
            return _attempt(episode, output, attempt, lambda: perform(heard.add))  # noqa: B023  (called at once)
        except ModelCallFailed as failure:
            wait_ms = None if heard.anything else _wait_ms(episode, failure, attempt)
            episode.ledger.note(_failed(episode, failure, attempt, retried=wait_ms is not None))
            if wait_ms is None:
                raise
        episode.ledger.commit()
        if episode.interruption.wait(wait_ms / 1000):
            raise TurnInterrupted
        attempt += 1


class _Heard:
    """Remember whether anything of an answer came."""

    def __init__(self, output: Folder) -> None:
        self.anything = False
        self._output = output

    def add(self, text: str) -> None:
        self.anything = True
        self._output.add(text)


def _attempt(
    episode: Episode, output: Folder, attempt: int, perform: Callable[[], ModelAnswer]
) -> ModelAnswer:
    """Make one call between two facts; the first is durable before the call leaves."""
    episode.ledger.note(
        events.ModelRequested(model_turn=episode.model_turn, model=episode.record.model, attempt=attempt)
    )
    episode.ledger.commit()
    clock = episode.services.clock
    started = clock.monotonic_ms()
    try:
        answer = perform()
    finally:
        output.forget()
    episode.ledger.note(_responded(episode, answer, clock.monotonic_ms() - started))
    return answer


def _responded(episode: Episode, answer: ModelAnswer, took_ms: int) -> events.ModelResponded:
    return events.ModelResponded(
        model_turn=episode.model_turn,
        text=answer.text,
        reasoning=answer.reasoning,
        calls=[{"call_id": call.call_id, "tool": call.tool} for call in answer.calls],
        finish=answer.finish,
        usage=dict(answer.usage),
        took_ms=took_ms,
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
