"""Name the sets of permissions that people and tokens hold (DESIGN 11)."""

from collections.abc import Iterable, Mapping
from typing import Final

from lifecycle_core.contract.actor import Permission

PERMISSIONS: Final[Mapping[str, frozenset[Permission]]] = {
    "viewer": frozenset({Permission.READ}),
    "operator": frozenset(
        {Permission.READ, Permission.DECIDE, Permission.ANSWER, Permission.CANCEL_INVOCATION}
    ),
    "coordinator": frozenset(
        {Permission.READ, Permission.CANCEL_DELIVERY, Permission.RETIRE, Permission.RESOLVE}
    ),
    "host": frozenset({Permission.START, Permission.READ_OWN}),
    "auditor": frozenset({Permission.READ, Permission.READ_SENSITIVE, Permission.EXPORT, Permission.VERIFY}),
    "admin": frozenset({Permission.READ, Permission.ADMINISTER}),
    "owner": frozenset(Permission),
}


def permissions(roles: Iterable[str]) -> frozenset[Permission]:
    """Return what some roles allow together; a role that is not known allows nothing."""
    return frozenset().union(*(PERMISSIONS.get(role, frozenset()) for role in roles))


def unknown(roles: Iterable[str]) -> list[str]:
    """Return those of some roles that are not known."""
    return [role for role in roles if role not in PERMISSIONS]
