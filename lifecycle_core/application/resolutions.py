"""Resolve unknown invocations: a coordinator says what happened, always with a reason."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from lifecycle_core.application import bootstrap, cleaning, commands, endings, permissions, queries, steering
from lifecycle_core.application.reading import invocations as rows
from lifecycle_core.application.reading import journal
from lifecycle_core.application.resources import InvocationItem, OpenIntent
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.events import ToolIntended
from lifecycle_core.contract.ports import CallRecord
from lifecycle_core.contract.resolution import Finding, Outcome, Resolution
from lifecycle_core.contract.status import ACTIVE
from lifecycle_core.engine import resolution, telling
from lifecycle_core.journal.models import Invocation

MAX_REASON: Final = 2000


def open_intents(actor: Actor, invocation: UUID) -> list[OpenIntent]:
    """Return the calls that were sent and of which nobody knows whether they happened.

    Those of an unknown invocation wait for somebody to say it; those of one that has ended stay as they are. What is just
    under way is no such call.
    """
    found = rows.row(actor, invocation)
    if found.status in ACTIVE:
        return []
    calls = resolution.open_intents(bootstrap.journal().calls(found.pk, found.model_turns))
    sent = _sent(found)
    return [_item(call, sent.get(call.id, 0)) for call in calls]


def _sent(found: Invocation) -> dict[str, int]:
    """Return when each call was last sent."""
    intents = (item for item in journal.all_events(found) if item.kind == ToolIntended.kind)
    return {str(item.payload["call"]): item.at for item in intents if not item.corrupt}


def _item(call: CallRecord, intended_at: int) -> OpenIntent:
    return OpenIntent(
        call=call.id,
        call_id=call.call_id,
        tool=call.tool,
        effect_class=call.effect_class,
        arguments=call.arguments,
        attempts=call.attempts,
        approval=call.approval,
        intended_at=intended_at,
    )


def resolve(
    actor: Actor,
    invocation: UUID,
    *,
    outcome: Outcome,
    reason: str,
    findings: Sequence[Finding] = (),
    key: str | None = None,
) -> InvocationItem:
    """Let an unknown invocation go on, or settle it as failed or as cancelled.

    To go on, `findings` must say of every open intent whether it happened. Raises `errors.StatusConflict` for an invocation
    that is not unknown (any more), `errors.SchemaInvalid` for a missing reason or findings that do not fit, and
    `errors.ValueTooLarge` for a result that the agent could not be told.
    """
    found = rows.row(actor, invocation)
    permissions.check_can_resolve(actor)
    body = _body(found.pk, outcome, reason, findings)

    resolution = _resolution(actor, found, outcome, reason, findings)

    def run() -> UUID:
        endings.show(found.pk, found.status, steering.control().resolve(found.pk, resolution))
        return found.pk

    return queries.invocation(actor, commands.Command.of("resolve", key, body).once(actor, run))


def _resolution(
    actor: Actor, found: Invocation, outcome: Outcome, reason: str, findings: Sequence[Finding]
) -> Resolution:
    if not reason.strip() or len(reason) > MAX_REASON:
        raise errors.SchemaInvalid(problems=[Problem("/reason", f"say why, in 1 to {MAX_REASON} characters")])
    said: Any = cleaning.value(found, [reason, [finding.result for finding in findings]])
    kept = [
        Finding(call=finding.call, happened=finding.happened, result=result, then=finding.then)
        for finding, result in zip(findings, said[1], strict=True)
    ]
    for finding in kept:
        telling.check(finding.result, bootstrap.services().value_bytes)
    return Resolution(outcome=outcome, by=actor.name, reason=said[0], findings=tuple(kept))


def _body(invocation: UUID, outcome: str, reason: str, findings: Sequence[Finding]) -> Json:
    return {
        "invocation": str(invocation),
        "outcome": outcome,
        "reason": reason,
        "calls": [dict(vars(finding)) for finding in findings],
    }
