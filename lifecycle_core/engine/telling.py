"""Know how large a thing an agent can be told.

A session keeps what it is told as text in a message: a value becomes JSON, and that JSON is quoted as a string of JSON. So a
quotation mark counts twice in a text, and four times in a text within a value. What would not fit is refused where it is said:
once it is a fact, nothing could go on.
"""

from collections.abc import Iterable
from typing import Final

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event

# What a session's message has around what it tells.
ENVELOPE_BYTES: Final = 4096


def limit(value_bytes: int) -> int:
    """Return how many bytes of a message can be taken by what is told, where the journal keeps values of so many bytes."""
    return max(value_bytes - ENVELOPE_BYTES, value_bytes // 2)


def text(value: Json) -> str:
    """Return a value as an agent is told it: text as it is, anything else as JSON. Raises `errors.NotCanonical`."""
    return value if isinstance(value, str) else digests.canonical(value).decode()


def size(value: Json) -> int:
    """Return how many bytes of a message a value takes. Raises `errors.NotCanonical`."""
    return len(digests.canonical(text(value)))


def check(value: Json, value_bytes: int) -> None:
    """Refuse what no message could tell. Raises `errors.ValueTooLarge`."""
    most = limit(value_bytes)
    if size(value) > most:
        raise errors.ValueTooLarge(limit_bytes=most)


def check_results(facts: Iterable[Event], value_bytes: int) -> None:
    """Refuse facts of which one gives a call a result that no message could tell. Raises `errors.ValueTooLarge`."""
    for fact in facts:
        if isinstance(fact, events.ToolCompleted):
            check(fact.content, value_bytes)
