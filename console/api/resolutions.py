"""Unknown invocations: what is open, and saying what became of it."""

from typing import Any, Literal
from uuid import UUID

from ninja import Router, Schema

from console.api import wire
from console.api.authentication import Request
from console.api.invocations import Invocation
from console.api.shapes import Instant, Json, Page
from lifecycle_core.application import resolutions, resources
from lifecycle_core.contract import errors, resolution
from lifecycle_core.contract.errors import Problem

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


class Finding(wire.Body):
    """What became of a call: one that happened has a `result`, of one that did not `then` says whether it runs after all."""

    call: wire.Word
    finding: Literal["happened", "did-not-happen"]
    result: Any = None
    then: Literal["run", "error"] | None = None

    def problems(self, pointer: str) -> list[Problem]:
        """Return which of the two is missing, and which does not belong here."""
        expected = "result" if self.finding == "happened" else "then"
        return [
            Problem(f"{pointer}/{name}", f"{self.finding} takes {'a' if name == expected else 'no'} {name}")
            for name in ("result", "then")
            if (name in self.model_fields_set) != (name == expected)
        ]

    def found(self) -> resolution.Finding:
        """Return it as the core says it."""
        happened = self.finding == "happened"
        return resolution.Finding(call=self.call, happened=happened, result=self.result, then=self.then or "")


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
    problems = [p for index, call in enumerate(body.calls) for p in call.problems(f"/calls/{index}")]
    if problems:
        raise errors.SchemaInvalid(problems=problems)
    return resolutions.resolve(
        request.auth,
        invocation,
        outcome=body.outcome,
        reason=body.reason,
        findings=[call.found() for call in body.calls],
        key=key,
    )
