"""The journal as a whole: export as NDJSON, verify."""

from uuid import UUID

from django.http import HttpResponse
from ninja import Router, Schema

from console import streams
from console.api.authentication import Request
from console.api.shapes import Object
from lifecycle_core.application import journals
from lifecycle_core.application.resources import Verification as VerificationItem

router = Router(tags=["journal"])


class Verification(Schema):
    """The answer of a check of the hash chains; `broken` names the first event that does not fit."""

    intact: bool
    events: int
    invocations: int
    broken: Object | None


@router.get(
    "/export",
    summary="Export journals, one JSON object per line",
    openapi_extra={
        "responses": {200: {"description": "OK", "content": {streams.NDJSON: {"schema": {"type": "string"}}}}}
    },
)
def export(request: Request, invocation: UUID | None = None) -> HttpResponse:
    lines = journals.export(request.auth, invocation=invocation)
    return streams.ndjson(lines, "journal")  # type: ignore[return-value]


@router.get("/verify", response=Verification, summary="Check the hash chains")
def verify(request: Request, invocation: UUID | None = None) -> VerificationItem:
    return journals.verify(request.auth, invocation=invocation)
