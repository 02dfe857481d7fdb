"""Long answers, a stretch at a time."""

from collections.abc import AsyncIterator, Iterator
from itertools import batched, chain, islice
from typing import Final

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

NDJSON: Final = "application/x-ndjson"
LINES: Final = 200


def ndjson(lines: Iterator[str], name: str) -> StreamingHttpResponse:
    """Answer with lines of JSON as a file. The first is read now: a refusal must still become the status of the answer."""
    first = list(islice(lines, 1))
    response = StreamingHttpResponse(blocks(chain(first, lines)), content_type=NDJSON)
    response["Content-Disposition"] = f'attachment; filename="{name}.ndjson"'
    return response


async def blocks(lines: Iterator[str]) -> AsyncIterator[str]:
    """Read some lines at a time in a thread, so that neither memory nor the server's loop fills up."""
    batches = batched(lines, LINES, strict=False)
    while (batch := await sync_to_async(lambda: next(batches, None))()) is not None:
        yield "".join(batch)
