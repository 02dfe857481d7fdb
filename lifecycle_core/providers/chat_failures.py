"""Say why a model call failed (reference: seed-contracts 16). No text here ever holds any part of a key."""

import email.utils
import json
import re
import time
from collections.abc import Iterable
from typing import Any, Final

from lifecycle_core.contract import ports

_QUOTA: Final = re.compile(r"quota|insufficient[ _]balance|insufficient[ _]funds|billing", re.IGNORECASE)
_OVERFLOW: Final = re.compile(
    r"context[ _](length|window|size)|maximum context|too many tokens|is too long|reduce the length",
    re.IGNORECASE,
)
_MESSAGE_CHARACTERS: Final = 500
# Who says so has not begun to answer, and may answer the next time.
_PASSING: Final = frozenset({"RATE_LIMIT", "SERVER"})


def of_response(
    status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes, secret: str
) -> ports.ModelCallFailed:
    """Return the failure that an answer with another status than 200 is."""
    text = body.decode("utf-8", "replace")
    code = _code(status, text)
    # A server may quote a part of the key that it refuses, so nothing of such an answer is passed on.
    message = "" if code == "AUTH" else _message(text).replace(secret, "[REDACTED]")
    fields = {name.lower(): value.decode("latin-1") for name, value in headers}
    retry_after_ms = _retry_after_ms(fields.get(b"retry-after", ""))
    notes = [
        f"the server answered {status}",
        message,
        *_notes(fields.get(b"x-request-id", ""), retry_after_ms),
    ]
    detail = "; ".join(filter(None, notes))
    return ports.ModelCallFailed(code, detail, retry_after_ms=retry_after_ms, retryable=code in _PASSING)


def of_chunk(error: Any) -> ports.ModelCallFailed:
    """Return the failure that a server reports inside a stream."""
    text = json.dumps(error, ensure_ascii=False)
    code = (
        "QUOTA" if _QUOTA.search(text) else "CONTEXT_WINDOW_EXCEEDED" if _OVERFLOW.search(text) else "SERVER"
    )
    return ports.ModelCallFailed(code, "the server reported an error inside the stream")


def native(failure: ports.ModelCallFailed) -> ports.ProviderFailed:
    """Return what a failed model call means for the turn."""
    codes = {"TIMEOUT": "PROVIDER_TIMED_OUT", "ABORTED": "PROVIDER_CANCELLED"}
    code = codes.get(failure.code, "PROVIDER_PROTOCOL_ERROR")
    return ports.ProviderFailed(code=code, detail=f"{failure.code}: {failure.detail}")


def _code(status: int, text: str) -> str:
    if status in (401, 403):
        return "AUTH"
    if 400 <= status < 500 and _QUOTA.search(text):
        return "QUOTA"
    if status == 400 and _OVERFLOW.search(text):
        return "CONTEXT_WINDOW_EXCEEDED"
    known = {400: "INVALID_REQUEST", 413: "INVALID_REQUEST", 429: "RATE_LIMIT"}
    return known.get(status) or ("SERVER" if 500 <= status < 600 else f"HTTP_{status}")


def _message(text: str) -> str:
    """Return the server's own words, bounded, from the usual error object or else the plain text."""
    try:
        error = json.loads(text)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass  # Not the usual form: the text itself has to do.
    return " ".join(text.encode("utf-8", "replace").decode().split())[:_MESSAGE_CHARACTERS]


def _notes(request_id: str, retry_after_ms: int | None) -> Iterable[str]:
    if request_id.isascii() and request_id.isprintable() and 0 < len(request_id) <= 128:
        yield f"request id {request_id}"
    if retry_after_ms is not None:
        yield f"retry after {retry_after_ms} ms"


def _retry_after_ms(value: str) -> int | None:
    """Return the wait that a Retry-After header asks for, in seconds or as a date."""
    if value.isdecimal() and len(value) < 8:
        return int(value) * 1000
    try:
        at = email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0, int((at - time.time()) * 1000))
