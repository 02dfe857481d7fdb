"""What several resources look like in answers. Times are ISO 8601 in UTC with milliseconds; fields are in DESIGN's order."""

from typing import Annotated, Any

from ninja import Schema
from pydantic import BeforeValidator, WithJsonSchema

from console.errors import instant
from lifecycle_core.contract import digests


def _instant(at: Any) -> Any:
    return instant(at) if isinstance(at, int) else at


Instant = Annotated[str, BeforeValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})]
Json = Annotated[Any, BeforeValidator(digests.thaw)]
Object = Annotated[dict[str, Any], BeforeValidator(digests.thaw)]


class Page[T](Schema):
    """One page of a list; `next` is the cursor of the following one, or null."""

    items: list[T]
    next: str | None


class Segment(Schema):
    kind: str
    text: str


class Display(Schema):
    """Text of an agent, made safe to look at."""

    text: str
    segments: list[Segment]
    lines: int
    characters: int
    flags: list[str]
