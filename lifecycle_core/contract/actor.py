"""Who asks: a person, a token or the system itself, always inside one tenant."""

from dataclasses import dataclass, field
from enum import StrEnum


class Permission(StrEnum):
    """One thing that somebody may do; roles are named sets of these (DESIGN 11)."""

    READ = "read"
    READ_OWN = "read-own"
    READ_SENSITIVE = "read-sensitive"
    DECIDE = "decide"
    ANSWER = "answer"
    CANCEL_INVOCATION = "cancel-invocation"
    CANCEL_DELIVERY = "cancel-delivery"
    RETIRE = "retire"
    RESOLVE = "resolve"
    START = "start"
    EXPORT = "export"
    VERIFY = "verify"
    ADMINISTER = "administer"


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Carry a caller's identity and rights as they are now.

    `name` is what the journal and other people see, for instance `user:maria` or `token:ci`.
    """

    tenant: str
    name: str
    permissions: frozenset[Permission] = field(default_factory=frozenset)

    def may(self, permission: Permission) -> bool:
        """Tell whether the actor holds a permission."""
        return permission in self.permissions


def system(tenant: str, part: str) -> Actor:
    """Return the actor that stands for a part of the product itself, such as the sweeper."""
    return Actor(tenant=tenant, name=f"system:{part}")
