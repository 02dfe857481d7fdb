"""Intent -> dispatch -> outcome: how a tool call reaches the world exactly as far as the journal says.

The intent is committed before the tool runs and consumes the approval; the outcome is committed before anything else is
dispatched. Between the two lies the only moment in which a crash leaves a question, and the effect class answers it: what
only reads or repeats harmlessly runs again under the same call identity, what can be asked is asked, and for the rest
nobody guesses: the invocation becomes unknown.
"""

from dataclasses import dataclass
from typing import Any

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import (
    BindingChanged,
    EffectClass,
    OutcomeUnknown,
    ToolError,
)
from lifecycle_core.engine import approvals, telling, tool_stages
from lifecycle_core.engine.episode import Episode, PlannedCall

REPEATABLE = frozenset({EffectClass.READ_ONLY, EffectClass.IDEMPOTENT})


@dataclass(frozen=True)
class Sent:
    """What came back of a call that reached the world, without any leased secret."""

    ok: bool
    content: Json
    took_ms: int


class Lost(Exception):
    """Nobody can say whether the call happened."""


def send(episode: Episode, call: PlannedCall, *, rewritten: bool = False) -> Sent:
    """Let a call reach the world, after its intent is durable; `rewritten` tells that its arguments are not those on record.

    Raises `Lost`, and `BindingChanged` when nothing was done.
    """
    intended = events.ToolIntended(
        call=call.call,
        tool=call.tool,
        arguments_digest=call.arguments_digest,
        token=episode.ledger.next_token,
        attempt=call.attempt,
        approval=call.approval,
        preparation=None if call.approval else call.preparation.binding,
        arguments=call.arguments if rewritten else None,
    )
    episode.ledger.note(intended)
    episode.ledger.commit()
    started = episode.services.clock.monotonic_ms()
    ok, content = _dispatch(episode, call)
    took_ms = episode.services.clock.monotonic_ms() - started
    return Sent(ok, episode.redactor.redact(kept(episode, content)), took_ms)


def _dispatch(episode: Episode, call: PlannedCall) -> tuple[bool, Json]:
    tool = episode.tools[call.tool]
    try:
        return True, tool.run(call.arguments, call.preparation, episode.context(call.call))
    except ToolError as problem:
        return False, error_of(problem.code, problem.detail)
    except BindingChanged:
        raise
    except OutcomeUnknown as cause:
        raise Lost(f"{call.tool}: {cause}") from cause
    except Exception as fault:
        # A fault of the tool itself. Whether it acted before it failed is known only where repeating is harmless.
        episode.log_fault(f"tool {call.tool} failed")
        if call.effect_class in REPEATABLE:
            return False, error_of("TOOL_FAULT", type(fault).__name__)
        raise Lost(f"{call.tool}: {type(fault).__name__}") from fault


def kept(episode: Episode, content: Json) -> Json:
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
    verdict = tool_stages.judge(episode, spec, call)
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
