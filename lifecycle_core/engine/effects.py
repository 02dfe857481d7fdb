"""Intent -> dispatch -> outcome: how a tool call reaches the world exactly as far as the journal says.

The intent is committed before the tool runs and consumes the approval; the outcome is committed before anything else is
dispatched. Between the two lies the only moment in which a crash leaves a question, and the effect class answers it: what
only reads or repeats harmlessly runs again under the same call identity, what can be asked is asked, and for the rest
nobody guesses: the invocation becomes unknown.
"""

import logging
from dataclasses import replace
from typing import Any

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import (
    BindingChanged,
    CallRecord,
    EffectClass,
    OutcomeUnknown,
    Preparation,
    ToolError,
    TurnInterrupted,
)
from lifecycle_core.engine import approvals, telling
from lifecycle_core.engine.episode import Episode, PlannedCall
from lifecycle_core.engine.turn import Turn

log = logging.getLogger(__name__)

REPEATABLE = frozenset({EffectClass.READ_ONLY, EffectClass.IDEMPOTENT})


def run(episode: Episode, turn: Turn, call: PlannedCall) -> events.ToolCompleted | None:
    """Run a call and return its outcome, or nothing when it has none yet (asked again, or its outcome is unknown)."""
    if episode.interruption():
        raise TurnInterrupted
    episode.ledger.note(
        events.ToolIntended(
            call=call.call,
            tool=call.tool,
            arguments_digest=call.arguments_digest,
            token=episode.ledger.next_token,
            attempt=call.attempt,
            approval=call.approval,
            preparation=None if call.approval else call.preparation.binding,
        )
    )
    episode.ledger.commit()
    return _dispatch(episode, turn, call)


def _dispatch(episode: Episode, turn: Turn, call: PlannedCall) -> events.ToolCompleted | None:
    tool = episode.tools[call.tool]
    clock = episode.services.clock
    started = clock.monotonic_ms()
    try:
        content = tool.run(call.arguments, call.preparation, episode.context(call.call))
    except ToolError as problem:
        return _outcome(episode, call, "failed", error_of(problem.code, problem.detail), started)
    except BindingChanged:
        return ask_again(episode, call, "what it would change has changed since it was approved")
    except OutcomeUnknown as cause:
        turn.lose(f"{call.tool}: {cause}", open_intents=(call.call,))
        return None
    except Exception as fault:  # noqa: BLE001  (it is logged, without secrets)
        # A fault of the tool itself. Whether it acted before it failed is known only where repeating is harmless.
        episode.log_fault(f"tool {call.tool} failed")
        if call.effect_class in REPEATABLE:
            return _outcome(episode, call, "failed", error_of("TOOL_FAULT", type(fault).__name__), started)
        turn.lose(f"{call.tool}: {type(fault).__name__}", open_intents=(call.call,))
        return None
    return _outcome(episode, call, "edited" if call.edited else "executed", _kept(episode, content), started)


def _kept(episode: Episode, content: Json) -> Json:
    """Return a result that can be kept and told: what was done is a fact, also when its result is none."""
    try:
        told = telling.size(content)
    except errors.NotCanonical as problem:
        return error_of("RESULT_NOT_JSON", f"The call was carried out; its result is lost: {problem.detail}.")
    limit = telling.limit(episode.services.value_bytes)
    if told > limit:
        return error_of(
            "RESULT_TOO_LARGE", f"The call was carried out; its result takes more than {limit} bytes."
        )
    return content


def _outcome(
    episode: Episode, call: PlannedCall, outcome: events.Outcome, content: Json, started: int
) -> events.ToolCompleted:
    return settle(episode, call, outcome, content, took_ms=episode.services.clock.monotonic_ms() - started)


def error_of(code: str, detail: str) -> dict[str, Json]:
    """Return what an agent is told of a call that did not work."""
    return {"error": code, "detail": detail}


def ask_again(episode: Episode, call: PlannedCall, reason: str) -> events.ToolCompleted | None:
    """Void the approval of a call and ask anew about what would run now, or settle the call when it can never run."""
    if call.approval is not None:
        episode.ledger.note(events.ApprovalSuperseded(approval=call.approval, call=call.call, reason=reason))
    spec = episode.tools[call.tool].spec
    try:
        fresh = episode.prepare(call)
    except ToolError as problem:
        return refuse(episode, call, problem.code, problem.detail)
    verdict = episode.judge(spec, call.arguments)
    if verdict.outcome == "refuse":
        return refuse(episode, call, "REFUSED", f"{verdict.rule}: {verdict.reason}")
    episode.ledger.note(approvals.request(episode, spec, fresh, verdict))
    return None


def refuse(episode: Episode, call: PlannedCall, code: str, detail: str) -> events.ToolCompleted:
    """Settle a call that may not run."""
    return settle(episode, call, "refused", error_of(code, detail))


def settle(
    episode: Episode, call: PlannedCall, outcome: events.Outcome, content: Json, **measured: Any
) -> events.ToolCompleted:
    """Give a call its one result, without any leased secret: the agent is told what the journal keeps."""
    completed = events.ToolCompleted(
        call=call.call,
        call_id=call.call_id,
        tool=call.tool,
        outcome=outcome,
        content=episode.redactor.redact(content),
        **measured,
    )
    episode.ledger.note(completed)
    return completed


def run_decided(episode: Episode, turn: Turn, decided: CallRecord) -> events.ToolCompleted | None:
    """Run a call that people have approved, if it is still what they approved."""
    tool = episode.tools.get(decided.tool)
    if tool is None:
        return refuse(episode, planned(decided), "TOOL_NOT_ADMITTED", decided.tool)
    try:
        call = episode.prepare(planned(decided))
    except ToolError as problem:
        return refuse(episode, planned(decided), problem.code, problem.detail)
    verdict = episode.judge(tool.spec, call.arguments)
    if verdict.outcome == "refuse" or not approvals.still_bound(episode, tool.spec, decided, call):
        return ask_again(episode, call, "what would run is no longer what was approved")
    return run(episode, turn, call)


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
    if interrupted.effect_class in REPEATABLE:
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
        return refuse(episode, planned(call), "TOOL_NOT_ADMITTED", call.tool)
    try:
        return _run_if_it_may(episode, turn, episode.prepare(planned(call)))
    except ToolError as problem:
        return refuse(episode, planned(call), problem.code, problem.detail)


def _run_if_it_may(episode: Episode, turn: Turn, call: PlannedCall) -> events.ToolCompleted | None:
    """Run a call; one that nobody has approved is put to the gates again, for they may have become stricter meanwhile."""
    if (
        call.approval is None
        and episode.judge(episode.tools[call.tool].spec, call.arguments).outcome != "allow"
    ):
        return ask_again(episode, call, "")
    return run(episode, turn, call)


def _reconcile(episode: Episode, turn: Turn, interrupted: CallRecord) -> events.ToolCompleted | None:
    tool = episode.tools[interrupted.tool]
    binding = interrupted.bound.get("preparation")
    call = replace(
        planned(interrupted), preparation=Preparation(binding=binding if isinstance(binding, dict) else {})
    )
    try:
        found = tool.reconcile(call.arguments, call.preparation, episode.context(call.call))
        if found == "done":
            result = _kept(episode, tool.result_of(call.arguments, call.preparation))
            return settle(episode, call, "edited" if call.edited else "executed", result, reconciled=True)
    except Exception:  # noqa: BLE001  (it is logged, without secrets)
        episode.log_fault(f"tool {call.tool} could not say what became of a call")
        found = "unknown"
    if found == "not_done":
        return _run_if_it_may(episode, turn, call)
    turn.lose(f"{call.tool} was interrupted and cannot say what happened", open_intents=(call.call,))
    return None
