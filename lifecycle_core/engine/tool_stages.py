"""The stages of a tool call: what plugins are shown of it, and what is taken from them."""

from dataclasses import replace
from typing import Any

from lifecycle_core.contract import errors, stages
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.frozen import draft, freeze
from lifecycle_core.contract.plugins import Verdict
from lifecycle_core.contract.ports import ToolError, ToolSpec
from lifecycle_core.contract.subjects import Moment, ToolCall, ToolOutcome
from lifecycle_core.engine import result_schema
from lifecycle_core.engine.chain import FAILED, UNJUDGED, StageFailed
from lifecycle_core.engine.episode import Episode, PlannedCall


def subject(episode: Episode, spec: ToolSpec, call: PlannedCall) -> ToolCall:
    """Return what plugins see of a call."""
    return ToolCall(
        identity=replace(episode.identity, tool_call=call.call),
        trusted=episode.trusted,
        tool=spec.name,
        family=spec.family,
        effect_class=spec.effect_class,
        arguments=freeze(call.arguments),
    )


def judge(episode: Episode, spec: ToolSpec, call: PlannedCall) -> Verdict:
    """Ask the gates about a call as it is."""
    return episode.chain.judge(stages.TOOL_ADMIT, subject(episode, spec, call), UNJUDGED)


def admit(episode: Episode, spec: ToolSpec, call: PlannedCall) -> tuple[PlannedCall, Verdict]:
    """Return a call as the plugins let it be, and the verdict on that. Raises `ToolError` where it cannot be."""
    proposed = subject(episode, spec, call)
    try:
        admitted, verdict = episode.chain.admit(stages.TOOL_ADMIT, proposed, UNJUDGED)
    except StageFailed as failed:
        raise ToolError(FAILED, str(failed)) from failed
    episode.chain.show(Moment(stage=stages.TOOL_ADMIT, when="after", subject=admitted, outcome=verdict))
    return call if admitted is proposed else rewritten(episode, spec, call, admitted), verdict


def rewritten(episode: Episode, spec: ToolSpec, call: PlannedCall, admitted: ToolCall) -> PlannedCall:
    """Return a call with the arguments that plugins put in the place of its own. Raises `ToolError`."""
    arguments = draft(admitted.arguments)
    if not isinstance(arguments, dict):
        raise ToolError("ARGUMENTS_INVALID", "a plugin left arguments that are no object")
    check_arguments(episode, spec, call.call_id, arguments)
    try:
        changed = replace(call, arguments=arguments)
        changed.arguments_digest  # noqa: B018  (it can only be taken of what can be kept)
    except errors.NotCanonical as problem:
        raise ToolError("ARGUMENTS_INVALID", problem.detail) from problem
    return changed


def check_arguments(episode: Episode, spec: ToolSpec, call_id: str, arguments: dict[str, Json]) -> None:
    """Raise `ToolError` for arguments that carry a leased secret or do not fit the tool."""
    check_no_secret(episode, call_id, arguments)
    problems = result_schema.validate(spec.input_schema, arguments)
    if problems:
        raise ToolError("ARGUMENTS_INVALID", errors.listed(problems))


def check_no_secret(episode: Episode, call_id: str, arguments: dict[str, Json]) -> None:
    """Raise `ToolError` for arguments that carry a leased secret."""
    if episode.holds_secret([call_id, arguments]):
        raise ToolError("SECRET_IN_ARGUMENTS", "the arguments contain a leased secret")


def understood(call: ToolCall, outcome: Any, by: str) -> ToolOutcome:
    """Return an interceptor's outcome; `by` is its name where the outcome is its own. Raises `TypeError` for anything else."""
    if not isinstance(outcome, ToolOutcome):
        raise TypeError(f"{type(outcome).__name__} is no outcome of a tool call")
    if not by:
        return outcome
    return replace(call.answered(freeze(outcome.content), ok=bool(outcome.ok)), by=by)


def result(episode: Episode, call: ToolCall, content: Json, *, ok: bool) -> Json:
    """Return what the agent is told of a call that was carried out. Raises `chain.StageFailed`."""
    given = call.answered(freeze(content), ok=ok)
    told = episode.chain.transform(stages.TOOL_RESULT, given)
    episode.chain.show(Moment(stage=stages.TOOL_RESULT, when="after", subject=told, outcome=told.content))
    return content if told is given else draft(told.content)
