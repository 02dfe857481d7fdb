"""Seal the right of an episode to a registered workspace, and know our own seals again (DESIGN 9).

The seal is an Ed25519 signature over the whole capability and its tenant. The key file holds one private key per line, the
newest first: it seals, and any of them is known again. A capability is of one episode, and an episode starts once: so a copy
of it opens nothing else.
"""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lifecycle_core.access import keyfiles
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.invocation import WorkspaceCapability

KEY_FILE: Final = "capabilities.keys"
LABEL: Final = "lifecycle-console/workspace/1"
SEAL: Final = "capability"


@dataclass(frozen=True)
class Authority:
    """Seal for the workspaces that `registered` names, with the keys of a folder."""

    keys: Callable[[], Path]
    registered: Callable[[], Collection[str]]

    def seal(self, tenant: str, capability: WorkspaceCapability) -> WorkspaceCapability:
        """Return the capability with its seal. Raises `errors.ConfigurationInvalid` for a workspace that is not registered."""
        if capability.name not in self.registered():
            raise errors.ConfigurationInvalid(
                detail=f"The workspace {capability.name} is not registered here."
            )
        key, name = next(self._keys())
        envelope: dict[str, Json] = {
            "key": name,
            "issuedAt": time.time_ns() // 1_000_000,
            "nonce": secrets.token_hex(16),
        }
        bare = dict(capability.handle or {})
        signature = key.sign(_sealed(tenant, capability.kind, bare, envelope))
        sealed = {**envelope, "signature": base64.b64encode(signature).decode()}
        return WorkspaceCapability(kind=capability.kind, handle={**bare, SEAL: sealed})

    def is_sealed(self, tenant: str, capability: WorkspaceCapability) -> bool:
        """Tell whether a capability is as one of our keys sealed it for this tenant, and its workspace still registered."""
        handle = dict(capability.handle or {})
        envelope = handle.pop(SEAL, None)
        if not isinstance(envelope, Mapping) or capability.name not in self.registered():
            return False
        kept = {name: value for name, value in envelope.items() if name != "signature"}
        key = next((key for key, name in self._keys() if name == kept.get("key")), None)
        if key is None:
            return False
        try:
            signature = base64.b64decode(str(envelope.get("signature")), validate=True)
            return _is_signed(key, signature, _sealed(tenant, capability.kind, handle, kept))
        except ValueError:  # no base64, or nothing that could have been signed
            return False

    def _keys(self) -> Iterator[tuple[Ed25519PrivateKey, str]]:
        yield from _parsed(keyfiles.load(self.keys(), KEY_FILE, _new_key))


def _sealed(tenant: str, kind: str, handle: Mapping[str, Any], envelope: Mapping[str, Any]) -> bytes:
    """Return the bytes that a seal stands for."""
    return digests.canonical(
        {"label": LABEL, "tenant": tenant, "kind": kind, "handle": dict(handle), "envelope": dict(envelope)}
    )


@lru_cache(maxsize=256)
def _is_signed(key: Ed25519PrivateKey, signature: bytes, sealed: bytes) -> bool:
    """Tell whether a signature is one of these bytes; of the same ones it is so each time that a call of a run looks again."""
    try:
        key.public_key().verify(signature, sealed)
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=4)
def _parsed(text: str) -> tuple[tuple[Ed25519PrivateKey, str], ...]:
    keys = [Ed25519PrivateKey.from_private_bytes(base64.b64decode(line)) for line in text.split()]
    return tuple((key, _name(key)) for key in keys)


def _name(key: Ed25519PrivateKey) -> str:
    return hashlib.sha256(key.public_key().public_bytes_raw()).hexdigest()[:16]


def _new_key() -> str:
    return base64.b64encode(Ed25519PrivateKey.generate().private_bytes_raw()).decode()
