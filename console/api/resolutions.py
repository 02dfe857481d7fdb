"""Unknown invocations: what is open, and saying what became of it."""

from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Router, Schema
from pydantic import Field

from console.api import wire
from console.api.authentication import Request
from console.api.invocations import Invocation
from console.api.shapes import Instant, Json, Page
from lifecycle_core.application import resolutions, resources
from lifecycle_core.contract import resolution

router = Router(tags=["invocations"])


class Intent(Schema):
    """A call that was sent and of which nobody knows whether it happened."""

    call: str
    call_id: str
    tool: str
    effect_class: str
    arguments: Json
    attempts: int
    approval: str | None
    intended_at: Instant


class Happened(wire.Body):
    call: wire.Word
    finding: Literal["happened"]
    result: Any


class DidNotHappen(wire.Body):
    call: wire.Word
    finding: Literal["did-not-happen"]
    then: Literal["run", "error"]


Finding = Annotated[Happened | DidNotHappen, Field(discriminator="finding")]


class Resolve(wire.Body):
    """How an unknown invocation is resolved; to `continue`, `calls` must say of every open intent what became of it."""

    outcome: Literal["continue", "failed", "cancelled"]
    reason: wire.Prose
    calls: list[Finding] = []


@router.get("/{uuid:invocation}/open-intents", response=Page[Intent], summary="List what is not known")
def intents(request: Request, invocation: UUID) -> dict[str, object]:
    return {"items": resolutions.open_intents(request.auth, invocation), "next": None}


@router.post("/{uuid:invocation}/resolve", response=Invocation, summary="Resolve an unknown invocation")
def resolve(
    request: Request, invocation: UUID, body: Resolve, key: wire.Key = None
) -> resources.InvocationItem:
    return resolutions.resolve(
        request.auth,
        invocation,
        outcome=body.outcome,
        reason=body.reason,
        findings=[_finding(call) for call in body.calls],
        key=key,
    )


def _finding(call: Happened | DidNotHappen) -> resolution.Finding:
    if isinstance(call, Happened):
        return resolution.Finding(call=call.call, happened=True, result=call.result)
    return resolution.Finding(call=call.call, happened=False, then=call.then)
