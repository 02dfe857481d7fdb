"""The journal as a whole: export as NDJSON, verify."""

from collections.abc import AsyncIterator, Iterator
from itertools import batched, chain, islice
from typing import Final
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpResponse, StreamingHttpResponse
from ninja import Router, Schema

from console.api.authentication import Request
from console.api.shapes import Object
from lifecycle_core.application import journals
from lifecycle_core.application.resources import Verification as VerificationItem

router = Router(tags=["journal"])

NDJSON: Final = "application/x-ndjson"
LINES: Final = 200


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
        "responses": {200: {"description": "OK", "content": {NDJSON: {"schema": {"type": "string"}}}}}
    },
)
def export(request: Request, invocation: UUID | None = None) -> HttpResponse:
    lines = journals.export(request.auth, invocation=invocation)
    # The first line is read now: a refusal must still be able to become the status of the answer.
    first = list(islice(lines, 1))
    response = StreamingHttpResponse(blocks(chain(first, lines)), content_type=NDJSON)
    response["Content-Disposition"] = 'attachment; filename="journal.ndjson"'
    return response  # type: ignore[return-value]


@router.get("/verify", response=Verification, summary="Check the hash chains")
def verify(request: Request, invocation: UUID | None = None) -> VerificationItem:
    return journals.verify(request.auth, invocation=invocation)


async def blocks(lines: Iterator[str]) -> AsyncIterator[str]:
    """Read some lines at a time in a thread, so that neither memory nor the server's loop fills up."""
    batches = batched(lines, LINES, strict=False)
    while (batch := await sync_to_async(lambda: next(batches, None))()) is not None:
        yield "".join(batch)
