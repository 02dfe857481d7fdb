"""Dispatches: compose one without starting anything."""

from typing import Any

from ninja import Router

from console.api import wire
from console.api.authentication import Request
from lifecycle_core.application import invocations

router = Router(tags=["dispatches"])


class Compose(wire.Body):
    """What would run. The answer is the complete dispatch with all its digests, which may be started as it is, once."""

    agent: wire.Word
    action: wire.Word
    input: Any
    delivery: wire.Word | None = None


@router.post("", response=dict[str, Any], summary="Compose a dispatch")
def compose(request: Request, body: Compose) -> Any:
    return invocations.compose(request.auth, **body.given(*Compose.model_fields)).as_json()
