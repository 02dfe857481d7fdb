"""How requests are read: strict JSON of a declared type, keys and limits with bounds."""

from typing import Annotated, Any, Final

from django.conf import settings
from django.http import HttpRequest
from ninja import Header, Query, Schema
from ninja.parser import Parser
from pydantic import ConfigDict, StringConstraints

from console.errors import MediaTypeUnsupported
from lifecycle_core.contract import digests, errors

JSON: Final = "application/json"

# Printable ASCII, as the IETF draft of the header has it; the quotes of a structured field are part of the key.
Key = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,200}$")] | None,
    Header(None, alias="Idempotency-Key", description="The same key and body get the stored answer again."),
]
Cursor = Annotated[str | None, Query(None, max_length=200, description="`next` of the page before")]
Limit = Annotated[int, Query(50, ge=1, le=200)]
ManyLimit = Annotated[int, Query(200, ge=1, le=1000)]
After = Annotated[int, Query(0, ge=0, le=2**53 - 1, description="the last number that is known")]
Text = Annotated[str | None, Query(None, max_length=200)]
# PostgreSQL stores no NUL.
Word = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Prose = Annotated[str, StringConstraints(strict=True, max_length=4000)]
Digest = Annotated[str, StringConstraints(strict=True, pattern=r"^sha256:[0-9a-f]{64}$")]


class Body(Schema):
    """A request body: what it does not name is refused."""

    model_config = ConfigDict(extra="forbid")

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of some fields that were sent, since null and absent are two things."""
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}


class StrictParser(Parser):
    """Read a body exactly, or refuse it."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the JSON of a request. Raises `MediaTypeUnsupported`, `ValueTooLarge`, `NotCanonical`."""
        if request.content_type != JSON:
            raise MediaTypeUnsupported
        # A body that comes in chunks has told no length before.
        if len(request.body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise errors.ValueTooLarge(limit_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        return digests.parse(request.body)
