"""Use cases over the secrets that agents' providers need."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lifecycle_core.access import credentials as rows
from lifecycle_core.access import origins
from lifecycle_core.access.models import Credential
from lifecycle_core.application import permissions, tenants
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.ports import CredentialLease
from lifecycle_core.engine import leases

REF: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")


@dataclass(frozen=True, kw_only=True)
class CredentialItem:
    """What may be known of a credential: all but the secret. Times are milliseconds since the epoch."""

    ref: str
    origins: Sequence[str]
    updated_by: str
    updated_at: int


def set(actor: Actor, *, ref: str, secret: str, bound: Sequence[str]) -> CredentialItem:
    """Keep a secret under a name, to be sent to the given origins only. Raises `ConfigurationInvalid`."""
    permissions.check_can_administer(actor)
    tenants.check(actor.tenant)
    if not REF.fullmatch(ref):
        raise errors.ConfigurationInvalid(detail=f"{ref!r} is no name of a credential, such as refs/model.")
    if not secret:
        raise errors.ConfigurationInvalid(detail="The secret is empty.")
    if not bound:
        raise errors.ConfigurationInvalid(
            detail="A credential needs at least one origin that it may be sent to."
        )
    rows.store(actor.tenant, ref, secret, [origins.of(text) for text in bound], actor.name)
    return _item(Credential.objects.get(tenant_id=actor.tenant, ref=ref))


def remove(actor: Actor, ref: str) -> None:
    """Forget a secret. Raises `NotFound`."""
    permissions.check_can_administer(actor)
    removed, _ = Credential.objects.filter(tenant_id=actor.tenant, ref=ref).delete()
    if not removed:
        raise errors.NotFound


def listed(actor: Actor) -> list[CredentialItem]:
    """Return the credentials of the actor's tenant by name, without their secrets."""
    permissions.check_can_administer(actor)
    return [_item(row) for row in Credential.objects.filter(tenant_id=actor.tenant)]


def rotate(actor: Actor) -> rows.Rotated:
    """Encrypt every secret of every tenant anew, while everything runs. Old keys stay, for backups."""
    permissions.check_can_administer(actor)
    return rows.rotate()


def lease(tenant: str, ref: str, url: str) -> CredentialLease:
    """Lend a secret for one turn's requests to `url`. Raises `CredentialAcquisitionFailed`."""
    return rows.lease(tenant, ref, url)


def without_leased(text: str) -> str:
    """Return a line of a log without any secret that a turn of this process holds now."""
    return leases.cleaned(text)


def _item(row: Credential) -> CredentialItem:
    return CredentialItem(
        ref=row.ref,
        origins=tuple(row.origins),
        updated_by=row.updated_by,
        updated_at=int(row.updated_at.timestamp() * 1000),
    )
