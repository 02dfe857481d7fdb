"""Admit the calls that a model proposes: each is refused with a reason, may run, waits for people, or speaks to the engine."""

from dataclasses import dataclass, replace
from typing import Literal

from lifecycle_core.contract import events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.plugins import Verdict
from lifecycle_core.contract.ports import EffectClass, ProposedCall, ToolError, ToolSpec
from lifecycle_core.engine import approvals, effects, tool_stages
from lifecycle_core.engine.episode import Episode, PlannedCall, call_identity

COMPLETE = "workflow_complete"


@dataclass(frozen=True)
class Admission:
    """What was decided about a call; a refused one has its result already."""

    call: PlannedCall
    next: Literal["run", "speak", "wait", "nothing"]
    result: events.ToolCompleted | None = None


def admit(episode: Episode, index: int, proposed: ProposedCall) -> Admission:
    """Decide about one call of the current model turn and note what was decided."""
    spec = _known(episode).get(proposed.tool)
    call = PlannedCall(
        call=call_identity(episode.record, episode.model_turn, proposed.call_id),
        call_id=proposed.call_id,
        tool=proposed.tool,
        effect_class=spec.effect_class if spec else EffectClass.UNSAFE,
        arguments=proposed.arguments or {},
    )
    try:
        if spec is None:
            raise ToolError("TOOL_NOT_ADMITTED", f"there is no tool {proposed.tool} here")
        _check_arguments(episode, spec, proposed)
        if spec.family == "workflow":
            _note(episode, index, call, Verdict(outcome="allow", rule="workflow"))
            return Admission(call, "speak")
        return _admit_effect(episode, index, call, spec)
    except ToolError as problem:
        call = replace(call, arguments=episode.without_secrets(call.arguments))
        _note(episode, index, call, Verdict(outcome="refuse", rule=f"admission: {problem.code}"))
        return Admission(call, "nothing", effects.refuse(episode, call, problem.code, problem.detail))


def _known(episode: Episode) -> dict[str, ToolSpec]:
    # The input request is known even where it is not offered: asking without the capability is a failure of its own.
    return {name: tool.spec for name, tool in episode.tools.items()} | episode.workflow


def _check_arguments(episode: Episode, spec: ToolSpec, proposed: ProposedCall) -> None:
    if proposed.arguments is None:
        raise ToolError("ARGUMENTS_INVALID", proposed.problem)
    if spec.name == COMPLETE:
        # The result is judged once, where the turn ends: a wrong one makes the invocation invalid.
        tool_stages.check_no_secret(episode, proposed.call_id, proposed.arguments)
    else:
        tool_stages.check_arguments(episode, spec, proposed.call_id, proposed.arguments)


def _admit_effect(episode: Episode, index: int, call: PlannedCall, spec: ToolSpec) -> Admission:
    proposed = call.arguments
    call, verdict = tool_stages.admit(episode, spec, call)
    if verdict.outcome == "refuse":
        raise ToolError("REFUSED", f"{verdict.rule}: {verdict.reason}")
    call = episode.prepare(call)
    _note(episode, index, call, verdict, proposed=None if call.arguments is proposed else proposed)
    if verdict.outcome == "allow":
        return Admission(call, "run")
    episode.ledger.note(approvals.request(episode, spec, call, verdict))
    return Admission(call, "wait")


def _note(
    episode: Episode,
    index: int,
    call: PlannedCall,
    verdict: Verdict,
    *,
    proposed: dict[str, Json] | None = None,
) -> None:
    episode.ledger.note(
        events.ToolRequested(
            call=call.call,
            call_id=call.call_id,
            model_turn=episode.model_turn,
            index=index,
            tool=call.tool,
            effect_class=call.effect_class,
            arguments=call.arguments,
            arguments_digest=call.arguments_digest,
            verdict=verdict.outcome,
            rule=verdict.rule,
            proposed=proposed,
        )
    )
