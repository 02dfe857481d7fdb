"""Give the calls of a model turn their results, as far as people and the world allow.

A worker does this when it takes an invocation up, and a turn does it for a while that stays open while people answer: a decided
call runs the same way in both.
"""

from typing import Final

from lifecycle_core.contract import events
from lifecycle_core.contract.ports import CallRecord, ToolResult, TurnInterrupted, TurnSuspended
from lifecycle_core.engine import speech, taking_up, telling
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.turn import Turn

LOOK_MS: Final = 200
REFUSALS: Final = frozenset({"failed", "refused", "denied", "expired", "cancelled"})

type Results = dict[str, events.ToolCompleted | None]
"""What each call has got, in the order of the calls, by our identity of it."""


def settle(episode: Episode, turn: Turn) -> Results:
    """Give the calls of the last model turn their results; what speaks to the engine comes last."""
    calls = episode.services.journal.calls(episode.record.id, episode.model_turn)
    results: Results = dict.fromkeys(call.id for call in calls)
    speaking = episode.workflow
    for call in sorted(calls, key=lambda call: call.tool in speaking):
        results[call.id] = _settle(episode, turn, call)
        if turn.uncertain or turn.failure:
            break
    return results


def within(episode: Episode, turn: Turn, grace_ms: int) -> Results:
    """Wait for people for a while, with what was asked committed and the lease kept, and run what they decide.

    Raises `TurnSuspended` when a call still waits then, at once where there is no while, and `TurnInterrupted` when the turn
    must stop.
    """
    if grace_ms <= 0:
        raise TurnSuspended
    ends = _end_of(episode, grace_ms)
    while not turn.over and (turn.pending is None or episode.interaction):
        # People decide on what is committed, and a result that is not would look as if its call had been interrupted.
        episode.ledger.commit()
        results = settle(episode, turn)
        if None not in results.values():
            turn.pending = None
            return results
        episode.ledger.commit()
        left = ends - episode.services.clock.monotonic_ms()
        if left <= 0:
            break
        if episode.interruption.wait(min(left, LOOK_MS) / 1000):
            raise TurnInterrupted
    raise TurnSuspended


def _end_of(episode: Episode, grace_ms: int) -> int:
    """Return when the grace ends: before the turn's own time does, since the time of people is not the agent's."""
    end, deadline = episode.services.clock.monotonic_ms() + grace_ms, episode.interruption.deadline_ms
    return end if deadline is None else min(end, deadline - LOOK_MS)


def _settle(episode: Episode, turn: Turn, call: CallRecord) -> events.ToolCompleted | None:
    match call.state:
        case "settled":
            return _stored(call)
        case "waiting":
            return None
        case "approved":
            return taking_up.run_decided(episode, turn, call)
        case "intended":
            return taking_up.recover(episode, turn, call)
        case "requested" if call.tool in episode.workflow:
            return speech.speak(episode, turn, taking_up.planned(call))
        case "requested":
            return taking_up.repeat(episode, turn, call)


def _stored(call: CallRecord) -> events.ToolCompleted:
    return events.ToolCompleted(
        call=call.id,
        call_id=call.call_id,
        tool=call.tool,
        outcome=call.outcome or "failed",
        content=call.content,
    )


def told(completed: events.ToolCompleted) -> ToolResult:
    """Return a call's result as the agent is told it: text as it is, anything else as canonical JSON."""
    return ToolResult(
        call_id=completed.call_id,
        outcome=completed.outcome,
        content=telling.text(completed.content),
        ok=completed.outcome not in REFUSALS,
    )
