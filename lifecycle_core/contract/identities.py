"""References and the identities derived from them (reference: seed-contracts 2 and 3.1).

`as_json()` gives the camel-case form that digests are computed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json

type Isolation = Literal["shared", "isolated"]


@dataclass(frozen=True, kw_only=True)
class DeliveryRef:
    """Name a unit of requested work; equal only when all three parts are."""

    identity: str
    manifest_binding: str
    activation_binding: str

    def as_json(self) -> dict[str, Json]:
        return {
            "deliveryIdentity": self.identity,
            "manifestBindingIdentity": self.manifest_binding,
            "activationBindingIdentity": self.activation_binding,
        }


@dataclass(frozen=True, kw_only=True)
class ThreadRef:
    """Name a thread of a delivery."""

    delivery: DeliveryRef
    identity: str

    def as_json(self) -> dict[str, Json]:
        return {"delivery": self.delivery.as_json(), "threadIdentity": self.identity}


@dataclass(frozen=True, kw_only=True)
class SiteRef:
    """Name the place of a plan at which an action is executed."""

    node: str
    kind: Literal["node", "parallel-branch", "parallel-join"] = "node"
    branch: str | None = None

    def as_json(self) -> dict[str, Json]:
        site: dict[str, Json] = {"kind": self.kind, "nodeIdentity": self.node}
        return site | {"branchIdentity": self.branch} if self.branch is not None else site


@dataclass(frozen=True, kw_only=True)
class EpisodeRef:
    """Name one attempt at one admitted action."""

    thread: ThreadRef
    site: SiteRef
    invocation: str
    attempt: str

    def as_json(self) -> dict[str, Json]:
        return {
            "thread": self.thread.as_json(),
            "site": self.site.as_json(),
            "invocationIdentity": self.invocation,
            "attemptIdentity": self.attempt,
        }

    def matches(self, other: "EpisodeRef") -> bool:
        """Compare two episodes; the site does not count (reference: seed-contracts 3.1)."""
        return (self.thread, self.invocation, self.attempt) == (other.thread, other.invocation, other.attempt)


@dataclass(frozen=True, kw_only=True)
class SessionAffinityRef:
    """Say which later invocations must reuse which native session."""

    identity: str
    delivery: DeliveryRef
    session_compatibility: str
    scope_value: str
    isolation: Isolation

    def as_json(self) -> dict[str, Json]:
        return {
            "identity": self.identity,
            "delivery": self.delivery.as_json(),
            "sessionCompatibilityIdentity": self.session_compatibility,
            "scopeValueIdentity": self.scope_value,
            "isolation": self.isolation,
        }


def access_digest(access: Json) -> str:
    """Return the digest of a turn's access rules, as workspace capabilities carry it."""
    return digests.digest(access)


def session_compatibility(session: Mapping[str, Json]) -> str:
    """Return the identity that two executors share when one may continue the other's session."""
    return digests.digest(session)


def executor_binding(session: Mapping[str, Json], turn: Mapping[str, Json]) -> str:
    """Return the identity of an executor: its session and its turn together."""
    return digests.digest({"session": session, "turn": turn})


def plan_binding(site: Mapping[str, Json], action: Mapping[str, Json], executor_binding_identity: str) -> str:
    """Return the identity that binds an action at a site to its executor."""
    return digests.digest(
        {"site": site, "action": action, "executorBindingIdentity": executor_binding_identity}
    )


def affinity_identity(delivery_identity: str, compatibility: str, scope_value: str, isolation: str) -> str:
    """Return the identity of a session affinity; of the delivery only its identity counts."""
    return digests.digest(
        {
            "deliveryIdentity": delivery_identity,
            "sessionCompatibilityIdentity": compatibility,
            "scopeValueIdentity": scope_value,
            "isolation": isolation,
        }
    )


def journal_reference(episode: EpisodeRef) -> str:
    """Return the identity of an episode's journal."""
    return "journal-" + digests.short(digests.digest(episode.as_json()))


def session_binding(affinity: str, opaque_identity: str) -> str:
    """Return the identity that binds a native session to its affinity."""
    return "session-" + digests.short(
        digests.digest({"affinity": affinity, "opaqueIdentity": opaque_identity})
    )


def receipt(response: Mapping[str, Json]) -> str:
    """Return the identity of the receipt for an interaction response."""
    return "receipt-" + digests.short(digests.digest(response))


def host_identity(
    prefix: Literal["invocation", "attempt"], thread: ThreadRef, site: SiteRef, sequence: int
) -> str:
    """Return the identity that a host gives to the invocation or attempt numbered `sequence` at a site."""
    value = {"thread": thread.as_json(), "site": site.as_json(), "sequence": sequence}
    return f"{prefix}." + digests.digest(value).removeprefix("sha256:")
