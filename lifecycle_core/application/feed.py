"""Follow a tenant's feed from a cursor."""

from lifecycle_core.application import permissions
from lifecycle_core.contract.actor import Actor
from lifecycle_core.journal import feed


def head(actor: Actor) -> tuple[str, int]:
    """Return the epoch of the tenant's feed and the position of its newest fact."""
    permissions.check_can_read(actor)
    return feed.head(actor.tenant)
