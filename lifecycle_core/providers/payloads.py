"""Read the parts of a model's answer: what is not as it should be fails the whole call (reference: seed-contracts 16)."""

import json
from collections.abc import Callable
from typing import Any, NoReturn

from lifecycle_core.contract import digests, errors, ports


def arguments(written: str) -> tuple[dict[str, digests.Json] | None, str]:
    """Return the arguments, or what is wrong with them; a call without parameters may have no text at all."""
    if not written.strip():
        return {}, ""
    try:
        value = digests.parse(written)
    except errors.NotCanonical as refusal:
        return None, f"the arguments are not valid JSON: {refusal.detail}"
    if not isinstance(value, dict):
        return None, "the arguments are no JSON object"
    return value, ""


def a_count(value: Any) -> int:
    if value is None:
        return 0
    if type(value) is not int or value < 0:
        malformed("a token count is no count")
    return int(value)


def a_code(reason: str) -> str:
    """Return a finish reason as an error code, where it is fit to be one."""
    if len(reason) > 64 or not reason.isascii() or not reason.replace("_", "").replace("-", "").isalnum():
        malformed("the finish reason is no word")
    return reason.upper()


def read(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        malformed("a payload is not JSON")


def paired(text: str) -> str:
    """Return a text with its surrogate pairs joined. A half that stays alone fails the call."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        malformed("a character is cut in half")


def an_object(value: Any, what: str) -> dict[str, Any]:
    return value if isinstance(value, dict) else malformed(f"{what} is no object")


def a_list(value: Any, what: str) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else malformed(f"{what} is no list")


def a_text(value: Any, what: str) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else malformed(f"{what} is no text")


def malformed(detail: str) -> NoReturn:
    raise ports.ModelCallFailed("MALFORMED_RESPONSE", detail)


class Said:
    """Join a text from its parts, and give on to `emit` what is whole of it as it comes."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._parts: list[str] = []
        self._half = ""

    def add(self, text: str) -> None:
        """Take the next part. Raises `ports.ModelCallFailed`."""
        if not text:
            return
        self._parts.append(text)
        # A server that counts in UTF-16 may cut a character in two; the half waits for its other half.
        text = self._half + text
        self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        whole = text[:-1] if self._half else text
        if whole:
            self._emit(paired(whole))

    def whole(self) -> str:
        """Return all of it. Raises `ports.ModelCallFailed`."""
        return paired("".join(self._parts))
