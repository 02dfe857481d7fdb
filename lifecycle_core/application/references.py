"""Find a delivery by whatever name people know it by."""

from uuid import UUID

from django.db.models import Q

from lifecycle_core.application import permissions
from lifecycle_core.application.reading import deliveries
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor, Permission
from lifecycle_core.journal.models import Tombstone


def delivery(actor: Actor, reference: str) -> UUID:
    """Return the id of a delivery, standing or retired, given that id or the identity that its host chose.

    A tombstone has the id of its delivery, so that retiring again finds it. Raises `NotFound`.
    """
    own = _id(reference)
    standing = deliveries.visible(actor).filter(Q(identity=reference) | Q(pk=own))
    retired = Tombstone.objects.filter(Q(delivery=reference) | Q(pk=own), tenant=actor.tenant)
    found = standing.values_list("pk", flat=True).first()
    if found is None and permissions.can(actor, Permission.READ):
        found = retired.values_list("pk", flat=True).first()
    if found is None:
        raise errors.NotFound
    return found


def _id(reference: str) -> UUID | None:
    try:
        return UUID(reference)
    except ValueError:
        return None
