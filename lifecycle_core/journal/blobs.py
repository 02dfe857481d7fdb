"""Large values: stored once as bytes, named by digest where they were.

A stored value is canonical JSON text, or `{"$blob": digest, "bytes": n}` for bytes in the blob table. A caller's own object of
that shape, or of the shape of the escape itself, is stored as `{"$literal": object}`; so nothing that an agent writes is ever
taken for a reference.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal.sql import Run, Statement

INLINE_BYTES: Final = 64 * 1024
VALUE_BYTES: Final = 4 * 1024 * 1024
REFERENCE: Final = {"$blob", "bytes"}
ESCAPE: Final = {"$literal"}

PUT: Final = Statement(
    "INSERT INTO journal_blob (delivery_id, digest, content) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
)
GET: Final = Statement("SELECT content FROM journal_blob WHERE delivery_id = %s AND digest = %s")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large a value may be to stay where it is, and how large at all, in bytes of canonical JSON."""

    inline: int = INLINE_BYTES
    value: int = VALUE_BYTES


DEFAULT: Final = Limits()


@dataclass(kw_only=True)
class Folder:
    """Turn values into stored text, and collect the blobs that they need."""

    limits: Limits
    blobs: dict[str, bytes] = field(default_factory=dict)

    def value(self, value: Any) -> str:
        """Return the stored form of one value. Raises `errors.ValueTooLarge` and `errors.NotCanonical`."""
        content = digests.canonical(value)
        if len(content) > self.limits.inline:
            return self._put(content)
        return content.decode() if not _is_special(value) else digests.canonical({"$literal": value}).decode()

    def payload(self, payload: dict[str, Json], content: bytes) -> str:
        """Return the stored form of an event's payload, field by field where it is large or special; `content` is canonical."""
        if len(content) <= self.limits.inline and not (b'"$blob"' in content or b'"$literal"' in content):
            return content.decode()
        fields = sorted(payload.items())
        return "{" + ",".join(f"{json.dumps(name)}:{self.value(value)}" for name, value in fields) + "}"

    def message(self, body: bytes) -> tuple[bytes, str]:
        """Return a message's inline bytes and the digest of its blob; one of them is empty."""
        if len(body) <= self.limits.inline:
            return body, ""
        self._put(body)
        return b"", digests.digest_bytes(body)

    def flush(self, run: Run, delivery: UUID | str) -> None:
        """Store what was collected, in one order for everybody."""
        for digest in sorted(self.blobs):
            run(PUT, (delivery, digest, self.blobs[digest]))

    def _put(self, content: bytes) -> str:
        if len(content) > self.limits.value:
            raise errors.ValueTooLarge(limit_bytes=self.limits.value)
        digest = digests.digest_bytes(content)
        self.blobs[digest] = content
        return f'{{"$blob":"{digest}","bytes":{len(content)}}}'


def _is_special(value: Any) -> bool:
    return isinstance(value, dict) and set(value) in (REFERENCE, ESCAPE)


def loader(run: Run, delivery: UUID | str) -> Callable[[str], bytes]:
    """Return how to load a delivery's blobs. The loader raises `errors.NotFound`."""

    def load(digest: str) -> bytes:
        row = run(GET, (delivery, digest)).fetchone()
        if row is None:
            raise errors.NotFound
        return bytes(row[0])

    return load


def unfold(text: str, load: Callable[[str], bytes]) -> Json:
    """Return the value of a stored text."""
    value: Json = _unfolded(json.loads(text), load)
    return value


def unfold_payload(text: str, load: Callable[[str], bytes]) -> dict[str, Json]:
    """Return the payload of a stored text."""
    stored: dict[str, Json] = json.loads(text)
    if '"$blob"' not in text and '"$literal"' not in text:
        return stored
    return {name: _unfolded(value, load) for name, value in stored.items()}


def _unfolded(value: Any, load: Callable[[str], bytes]) -> Any:
    if not _is_special(value):
        return value
    return value["$literal"] if "$literal" in value else json.loads(load(value["$blob"]))
