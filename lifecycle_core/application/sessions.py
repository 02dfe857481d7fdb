"""Native sessions that a provider keeps outside of the journal: they go with their deliveries, and into backups."""

from collections.abc import Iterable
from uuid import UUID

from lifecycle_core.application import bootstrap
from lifecycle_core.journal.models import Session

type Affinity = tuple[str, str]


def of(delivery: UUID) -> list[Affinity]:
    """Return the affinities of a delivery, each with its tenant."""
    return list(Session.objects.filter(delivery=delivery).values_list("tenant", "affinity"))


def forget(affinities: Iterable[Affinity]) -> None:
    """Delete the native sessions of affinities whose retirement is committed."""
    for tenant, affinity in affinities:
        bootstrap.native_sessions().forget(tenant, affinity)


def forget_retired() -> None:
    """Delete what a crash right after a retirement has left behind; call it before serving."""
    bootstrap.native_sessions().keep_only(Session.objects.values_list("tenant", "affinity").iterator())
