"""Take up a call that the journal holds: one that people decided, one that was interrupted, one that nobody has sent yet."""

from dataclasses import replace

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.ports import CallRecord, EffectClass, Preparation, ToolError
from lifecycle_core.engine import approvals, effects, tool_runs, tool_stages
from lifecycle_core.engine.episode import Episode, PlannedCall
from lifecycle_core.engine.turn import Turn


def run_decided(episode: Episode, turn: Turn, decided: CallRecord) -> events.ToolCompleted | None:
    """Run a call that people have approved, if it is still what they approved."""
    tool = episode.tools.get(decided.tool)
    if tool is None:
        return effects.refuse(episode, planned(decided), "TOOL_NOT_ADMITTED", decided.tool)
    try:
        admitted, verdict = tool_stages.admit(episode, tool.spec, planned(decided))
        call = episode.prepare(admitted)
    except ToolError as problem:
        return effects.refuse(episode, planned(decided), problem.code, problem.detail)
    if verdict.outcome == "refuse" or not approvals.still_bound(episode, tool.spec, decided, call):
        return effects.ask_again(episode, call, "what would run is no longer what was approved")
    return tool_runs.run(episode, turn, call)


def planned(record: CallRecord) -> PlannedCall:
    """Return a stored call as one that can run."""
    if not isinstance(record.arguments, dict):
        raise errors.CorrelationMismatch
    return PlannedCall(
        call=record.id,
        call_id=record.call_id,
        tool=record.tool,
        effect_class=record.effect_class,
        arguments=record.arguments,
        approval=record.approval,
        attempt=record.attempts + 1,
        edited=record.edited,
    )


def recover(episode: Episode, turn: Turn, interrupted: CallRecord) -> events.ToolCompleted | None:
    """Find out what became of a call whose intent has no outcome, and go on accordingly."""
    if interrupted.effect_class in effects.REPEATABLE:
        return repeat(episode, turn, interrupted)
    if interrupted.effect_class is EffectClass.RECONCILABLE and interrupted.tool in episode.tools:
        return _reconcile(episode, turn, interrupted)
    turn.lose(
        f"{interrupted.tool} was interrupted and cannot be asked what happened",
        open_intents=(interrupted.id,),
    )
    return None


def repeat(episode: Episode, turn: Turn, call: CallRecord) -> events.ToolCompleted | None:
    """Run a call that needs nobody, for the first time or again under the same identity, unless it needs somebody by now."""
    if call.tool not in episode.tools:
        return effects.refuse(episode, planned(call), "TOOL_NOT_ADMITTED", call.tool)
    try:
        return _run_if_it_may(episode, turn, episode.prepare(planned(call)))
    except ToolError as problem:
        return effects.refuse(episode, planned(call), problem.code, problem.detail)


def _run_if_it_may(episode: Episode, turn: Turn, call: PlannedCall) -> events.ToolCompleted | None:
    """Run a call; one that nobody has approved is put to the gates again, for they may have become stricter meanwhile."""
    spec = episode.tools[call.tool].spec
    if call.approval is None and tool_stages.judge(episode, spec, call).outcome != "allow":
        return effects.ask_again(episode, call, "")
    return tool_runs.run(episode, turn, call)


def _reconcile(episode: Episode, turn: Turn, interrupted: CallRecord) -> events.ToolCompleted | None:
    tool = episode.tools[interrupted.tool]
    binding = interrupted.bound.get("preparation")
    call = replace(
        planned(interrupted), preparation=Preparation(binding=binding if isinstance(binding, dict) else {})
    )
    try:
        found = tool.reconcile(call.arguments, call.preparation, episode.context(call.call))
        if found == "done":
            result = tool.result_of(call.arguments, call.preparation)
    except Exception:  # noqa: BLE001  (it is logged, without secrets)
        episode.log_fault(f"tool {call.tool} could not say what became of a call")
        found = "unknown"
    if found == "done":
        return tool_runs.found(episode, turn, call, result)
    if found == "not_done":
        return _run_if_it_may(episode, turn, call)
    turn.lose(f"{call.tool} was interrupted and cannot say what happened", open_intents=(call.call,))
    return None
