"""Take in what an agent says by the workflow tools: a completion is answered at once, a question waits for people."""

import uuid

from lifecycle_core.contract import events
from lifecycle_core.contract.ports import InputAsked, StructuredCompletion, ToolError
from lifecycle_core.engine import effects
from lifecycle_core.engine.episode import Episode, PlannedCall
from lifecycle_core.engine.turn import Turn


def speak(episode: Episode, turn: Turn, call: PlannedCall) -> events.ToolCompleted | None:
    """Take in what a call says; returns its result, or nothing while people are asked."""
    try:
        said = episode.services.workflow.signal(call.call_id, call.tool, call.arguments)
    except ToolError as problem:
        return effects.refuse(episode, call, problem.code, problem.detail)
    if isinstance(said, StructuredCompletion):
        turn.note(said)
        return effects.settle(episode, call, "executed", "accepted")
    _ask(episode, turn, call, said)
    return None


def _ask(episode: Episode, turn: Turn, call: PlannedCall, asked: InputAsked) -> None:
    """Ask people, if this is the turn's first question and the agent may ask at all."""
    first = turn.pending is None
    turn.note(asked)
    if not first or not episode.interaction:
        return
    services = episode.services
    episode.ledger.note(
        events.InputRequested(
            input=str(uuid.uuid4()),
            call=call.call,
            request_identity=asked.request_identity,
            prompt=asked.prompt,
            response_schema=asked.response_schema,
            expires_at=services.clock.now_ms() + services.timing.input_ms,
        )
    )
