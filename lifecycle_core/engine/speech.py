"""Take in what an agent says by the workflow tools: a completion is answered at once, a question waits for people.

A native session may ask without any tool; its question becomes a call, so that the answer has something to be the result of.
"""

import uuid
from typing import Final

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import (
    CallRecord,
    EffectClass,
    InputAsked,
    StructuredCompletion,
    ToolError,
)
from lifecycle_core.engine import effects, result_schema
from lifecycle_core.engine.episode import Episode, PlannedCall, call_identity
from lifecycle_core.engine.turn import PROTOCOL_ERROR, Turn

REQUEST_INPUT: Final = "workflow_request_input"


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
    if _counts(episode, turn, asked):
        _request(episode, call, asked)


def ask(episode: Episode, turn: Turn, asked: InputAsked) -> None:
    """Ask people what a native session asks outside of any call. What nobody could answer is a failure of its protocol."""
    if not _counts(episode, turn, asked):
        return
    episode.ledger.commit()  # so that no call is missing among those that were made
    made = episode.services.journal.calls(episode.record.id, episode.model_turn)
    try:
        call = _asking(episode, asked, made)
    except ToolError as problem:
        turn.fail(PROTOCOL_ERROR, f"the session asked what nobody can answer: {problem}")
        return
    episode.ledger.note(
        events.ToolRequested(
            call=call.call,
            call_id=call.call_id,
            model_turn=episode.model_turn,
            index=len(made),
            tool=call.tool,
            effect_class=call.effect_class,
            arguments=call.arguments,
            arguments_digest=call.arguments_digest,
            verdict="allow",
            rule="native",
        )
    )
    _request(episode, call, asked)


def _asking(episode: Episode, asked: InputAsked, made: list[CallRecord]) -> PlannedCall:
    """Return the call that a question stands for. Raises `ToolError`."""
    arguments: dict[str, Json] = {"requestIdentity": asked.request_identity, "prompt": asked.prompt}
    arguments["responseSchema"] = asked.response_schema
    problems = [
        *result_schema.validate(episode.workflow[REQUEST_INPUT].input_schema, arguments),
        *result_schema.check_form(asked.response_schema),
    ]
    if problems:
        raise ToolError("ARGUMENTS_INVALID", errors.listed(problems))
    identity = call_identity(episode.record, episode.model_turn, asked.call_id)
    if not asked.call_id or identity in {call.id for call in made}:
        raise ToolError("CALL_NOT_NEW", "its call cannot be told from another")
    return PlannedCall(
        call=identity,
        call_id=asked.call_id,
        tool=REQUEST_INPUT,
        effect_class=EffectClass.READ_ONLY,
        arguments=episode.without_secrets(arguments),
    )


def _counts(episode: Episode, turn: Turn, asked: InputAsked) -> bool:
    """Note a question, and tell whether it is the turn's first and the agent may ask at all."""
    first = turn.pending is None
    turn.note(asked)
    return first and episode.interaction


def _request(episode: Episode, call: PlannedCall, asked: InputAsked) -> None:
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
