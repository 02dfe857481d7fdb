"""The hash chain of a journal: h_n = SHA-256(h_{n-1} || canonical(event n)), and h_0 is bound to the invocation.

An event's hash covers the values themselves, wherever they are stored. What was changed, removed, reordered, inserted or moved
from one journal to another no longer fits. A forger who rewrites a whole chain with its head is found only by a head that was
exported before.
"""

import hashlib
from typing import Final

from lifecycle_core.contract import digests

LABEL: Final = b"lifecycle-journal-1\x00"


def origin(of: str) -> str:
    """Return h_0: of an invocation by its identity, of a tenant's own facts by `tenant:` and its slug."""
    return hashlib.sha256(LABEL + of.encode()).hexdigest()


def tenant_origin(tenant: str) -> str:
    """Return h_0 of the facts that belong to no invocation."""
    return origin(f"tenant:{tenant}")


def record(of: str, seq: int, kind: str, at: int, actor: str, payload: bytes) -> bytes:
    """Return the canonical form of an event from that of its payload, so that the payload is made canonical once."""
    return b'{"actor":%b,"at":%d,"invocation":%b,"kind":%b,"payload":%b,"seq":%d}' % (
        digests.canonical(actor),
        at,
        digests.canonical(of),
        digests.canonical(kind),
        payload,
        seq,
    )


def link(previous: str, event: bytes) -> str:
    """Return the hash of an event that follows the one with hash `previous`."""
    return hashlib.sha256(bytes.fromhex(previous) + event).hexdigest()
