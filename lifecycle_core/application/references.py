"""Find a delivery by whatever name people know it by."""

from uuid import UUID

from django.db.models import QuerySet

from lifecycle_core.application import permissions
from lifecycle_core.application.reading import deliveries
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor, Permission
from lifecycle_core.journal.models import Tombstone


def delivery(actor: Actor, reference: str) -> UUID:
    """Return the id of a delivery, standing or retired, given that id or the identity that its host chose.

    A tombstone has the id of its delivery, so that retiring again finds it. An id goes before an identity, which a host may
    have chosen to look like the id of another delivery. Raises `NotFound`.
    """
    own, standing, retired = _id(reference), deliveries.visible(actor), _retired(actor)
    by_id = (standing.filter(pk=own), retired.filter(pk=own)) if own else ()
    for rows in (*by_id, standing.filter(identity=reference), retired.filter(delivery=reference)):
        found: UUID | None = rows.values_list("pk", flat=True).first()
        if found is not None:
            return found
    raise errors.NotFound


def _retired(actor: Actor) -> QuerySet[Tombstone]:
    """Return the tombstones that an actor may see; they do not say who started what."""
    rows = Tombstone.objects.filter(tenant=actor.tenant)
    return rows if permissions.can(actor, Permission.READ) else rows.none()


def _id(reference: str) -> UUID | None:
    try:
        return UUID(reference)
    except ValueError:
        return None
