"""The hash chain of a journal: h_n = SHA-256(h_{n-1} || canonical(event n)), and h_0 is bound to the invocation.

An event's hash covers the values themselves, wherever they are stored. What was changed, removed, reordered, inserted or moved
from one journal to another no longer fits. A forger who rewrites a whole chain with its head is found only by a head that was
exported before.
"""

import hashlib
from typing import Final, Protocol

from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json

LABEL: Final = b"lifecycle-journal-1\x00"


def origin(of: str) -> str:
    """Return h_0 of a journal, named by its invocation or by `of_tenant`."""
    return hashlib.sha256(LABEL + of.encode()).hexdigest()


def of_tenant(tenant: str) -> str:
    """Name the journal of the facts that belong to no invocation of a tenant."""
    return f"tenant:{tenant}"


class Journal:
    """Link events of one journal that one actor caused; what they share is made canonical once."""

    def __init__(self, of: str, actor: str) -> None:
        self._actor = digests.canonical(actor)
        self._of = digests.canonical(of)

    def record(self, seq: int, kind: str, at: int, payload: bytes) -> bytes:
        """Return the canonical form of an event from that of its payload."""
        return b'{"actor":%b,"at":%d,"invocation":%b,"kind":"%b","payload":%b,"seq":%d}' % (
            self._actor,
            at,
            self._of,
            kind.encode(),
            payload,
            seq,
        )

    def link(self, previous: str, seq: int, kind: str, at: int, payload: bytes) -> str:
        """Return the hash of an event that follows the one with hash `previous`."""
        return hashlib.sha256(bytes.fromhex(previous) + self.record(seq, kind, at, payload)).hexdigest()


class Stored(Protocol):
    """An event as it is stored."""

    seq: int
    kind: str
    at: int
    actor: str
    hash: str


def fits(event: Stored, of: str, previous: str, payload: dict[str, Json]) -> bool:
    """Tell whether a stored event has the hash that its content and the hash before it call for."""
    try:
        content = digests.canonical(payload)
        return Journal(of, event.actor).link(previous, event.seq, event.kind, event.at, content) == event.hash
    except (errors.NotCanonical, ValueError):
        return False
