"""What an approval binds, and what a decision does.

An approval stands for exactly one call: its digest covers who calls what with which bytes, under which executor and session, in
which workspace, against which state of the world, until when. What runs is bound again and must give the same digest.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.plugins import Verdict
from lifecycle_core.contract.ports import CallRecord, ToolError, ToolSpec
from lifecycle_core.engine import leases, result_schema, telling, tool_stages
from lifecycle_core.engine.episode import Episode, PlannedCall


def bind(
    episode: Episode,
    spec: ToolSpec,
    call: PlannedCall,
    *,
    model_turn: int,
    expires_at: int,
    nonce: str,
) -> dict[str, Json]:
    """Return the object whose digest an approval stands for."""
    record = episode.record
    dispatch: Mapping[str, Any] = record.dispatch
    return {
        "label": "lifecycle-console/approval/1",
        "tenant": record.tenant,
        "delivery": record.delivery.as_json(),
        "invocation": str(record.id),
        "attempt": record.attempt,
        "modelTurn": model_turn,
        "call": call.call,
        "callId": call.call_id,
        "tool": spec.name,
        "toolSchema": spec.schema_digest,
        "server": "built-in",
        "arguments": call.arguments_digest,
        "preparation": call.preparation.binding,
        "executor": dispatch["executor"]["bindingIdentity"],
        "session": episode.session,
        "workspace": digests.digest(dispatch["workspace"]),
        "expiresAt": expires_at,
        "nonce": nonce,
    }


def request(
    episode: Episode, spec: ToolSpec, call: PlannedCall, verdict: Verdict
) -> events.ApprovalRequested:
    """Ask people about a call of the current model turn."""
    expires_at = episode.services.clock.now_ms() + episode.services.timing.approval_ms
    bound = bind(
        episode, spec, call, model_turn=episode.model_turn, expires_at=expires_at, nonce=uuid.uuid4().hex
    )
    return events.ApprovalRequested(
        approval=str(uuid.uuid4()),
        call=call.call,
        call_id=call.call_id,
        tool=spec.name,
        effect_class=spec.effect_class,
        arguments=call.arguments,
        preview=call.preparation.preview,
        request_digest=digests.digest(bound),
        bound=bound,
        rule=verdict.rule,
        risk=verdict.risk,
        expires_at=expires_at,
    )


def still_bound(episode: Episode, spec: ToolSpec, decided: CallRecord, call: PlannedCall) -> bool:
    """Tell whether what would run now is what was approved."""
    nonce, model_turn = str(decided.bound["nonce"]), decided.model_turn
    expires_at = decided.expires_at
    now = bind(episode, spec, call, model_turn=model_turn, expires_at=expires_at, nonce=nonce)
    return digests.digest(now) == decided.effective_digest


def check_arguments(spec: ToolSpec, arguments: Json) -> dict[str, Json]:
    """Return arguments that fit a tool. Raises `errors.SchemaInvalid`."""
    problems = result_schema.validate(spec.input_schema, arguments)
    if problems or not isinstance(arguments, dict):
        raise errors.SchemaInvalid(problems=problems)
    return arguments


@dataclass(frozen=True, kw_only=True)
class Said:
    """Who decides on which question, and why."""

    approval: str
    by: str
    request_digest: str
    reason: str

    def decided(
        self, call: CallRecord, decision: events.Decision, effective_digest: str = "", **more: Any
    ) -> Event:
        """Return the decision as a fact."""
        return events.ApprovalDecided(
            approval=self.approval,
            call=call.id,
            decision=decision,
            by=self.by,
            request_digest=self.request_digest,
            effective_digest=effective_digest,
            reason=self.reason,
            **more,
        )


def approve(pending: CallRecord, said: Said) -> list[Event]:
    """Let the call run as it was asked."""
    return [said.decided(pending, "approve", said.request_digest)]


def edit(episode: Episode, pending: CallRecord, said: Said, arguments: Json) -> list[Event]:
    """Let the call run with other arguments, put through schema, gates and preparation as if the agent had asked.

    Raises `errors.SchemaInvalid` where they do not fit, `errors.ValueTooLarge` where no message could tell them,
    `errors.SecretInArguments` where they carry the agent's secret, `errors.Forbidden` where a gate refuses and
    `errors.NotFound` where the tool is no longer there.
    """
    if pending.tool not in episode.tools:
        raise errors.NotFound
    spec = episode.tools[pending.tool].spec
    telling.check(arguments, episode.services.value_bytes)
    with leases.protected(episode):
        if episode.holds_secret(arguments):
            raise errors.SecretInArguments
    fitting = check_arguments(spec, arguments)
    edited = PlannedCall(
        call=pending.id,
        call_id=pending.call_id,
        tool=pending.tool,
        effect_class=pending.effect_class,
        arguments=fitting,
    )
    verdict = tool_stages.judge(episode, spec, edited)
    if verdict.outcome == "refuse":
        raise errors.Forbidden(reason=episode.redactor.text(f"{verdict.rule}: {verdict.reason}"))
    call = _prepared(episode, edited)
    nonce, expires_at = str(pending.bound["nonce"]), pending.expires_at
    bound = bind(episode, spec, call, model_turn=pending.model_turn, expires_at=expires_at, nonce=nonce)
    digest, preview = digests.digest(bound), call.preparation.preview
    return [said.decided(pending, "edit", digest, arguments=fitting, bound=bound, preview=preview)]


def reject(pending: CallRecord, said: Said) -> list[Event]:
    """Refuse the call; the agent is told that a person did, and why."""
    told: Json = {"error": "REJECTED", "detail": "A person refused this call.", "reason": said.reason}
    return [said.decided(pending, "reject"), settled(pending, "denied", told)]


def respond(pending: CallRecord, said: Said, result: Json) -> list[Event]:
    """Answer in the tool's place; nothing runs."""
    return [said.decided(pending, "respond", result=result), settled(pending, "answered", result)]


def _prepared(episode: Episode, call: PlannedCall) -> PlannedCall:
    try:
        return episode.prepare(call)
    except ToolError as problem:
        # What a tool says of a file or a server may quote the secret from there.
        detail = episode.redactor.text(f"{problem.code}: {problem.detail}")
        raise errors.SchemaInvalid(problems=[Problem("", detail)]) from problem


def expire(pending: CallRecord, approval: str) -> list[Event]:
    """Close an approval whose time has passed; that denies the call."""
    told: Json = {"error": "EXPIRED", "detail": "Nobody decided on this call in time."}
    return [events.ApprovalExpired(approval=approval, call=pending.id), settled(pending, "expired", told)]


def settled(call: CallRecord, outcome: events.Outcome, content: Json) -> events.ToolCompleted:
    """Give a call its one result without running it."""
    return events.ToolCompleted(
        call=call.id, call_id=call.call_id, tool=call.tool, outcome=outcome, content=content
    )
