"""Use cases over the tokens by which programs sign in."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from lifecycle_core.access import actors
from lifecycle_core.access import tokens as rows
from lifecycle_core.access.models import Token
from lifecycle_core.application import members, permissions, tenants
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor


@dataclass(frozen=True, kw_only=True)
class TokenItem:
    """What may be known of a token after it was shown once. Times are milliseconds since the epoch."""

    id: str
    name: str
    roles: Sequence[str]
    created_by: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


def create(
    actor: Actor, *, name: str, roles: Sequence[str], days: int | None = None
) -> tuple[str, TokenItem]:
    """Make a token and return its text, which is never shown again. Raises `ConfigurationInvalid`.

    A second token of one name is the same principal with another secret: create, switch, revoke the first.
    """
    permissions.check_can_administer(actor)
    tenants.check(actor.tenant)
    members.check_roles(roles)
    if not name or len(name) > 100 or not name.isprintable():
        raise errors.ConfigurationInvalid(detail="A token needs a printable name of at most 100 characters.")
    if days is not None and not 1 <= days <= 3650:
        raise errors.ConfigurationInvalid(detail="A token expires after 1 to 3650 days.")
    text = rows.generate()
    row = Token.objects.create(
        tenant_id=actor.tenant,
        name=name,
        hash=rows.keyed_hash(text),
        roles=list(roles),
        created_by=actor.name,
        expires_at=timezone.now() + datetime.timedelta(days=days) if days else None,
    )
    return text, _item(row)


def revoke(actor: Actor, token: UUID) -> TokenItem:
    """End a token from the next request on. Raises `NotFound`."""
    permissions.check_can_administer(actor)
    mine = Token.objects.filter(pk=token, tenant_id=actor.tenant)
    mine.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())
    if (row := mine.first()) is None:
        raise errors.NotFound
    return _item(row)


def listed(actor: Actor) -> list[TokenItem]:
    """Return the tokens of the actor's tenant, the oldest first."""
    permissions.check_can_administer(actor)
    return [_item(row) for row in Token.objects.filter(tenant_id=actor.tenant)]


def actor_of(bearer: str) -> Actor:
    """Return who a bearer token stands for. Raises `Unauthenticated`."""
    return actors.for_token(bearer)


def _item(row: Token) -> TokenItem:
    return TokenItem(
        id=str(row.pk),
        name=row.name,
        roles=tuple(row.roles),
        created_by=row.created_by,
        created_at=_ms(row.created_at),
        expires_at=_ms(row.expires_at) if row.expires_at else None,
        revoked_at=_ms(row.revoked_at) if row.revoked_at else None,
        last_used_at=_ms(row.last_used_at) if row.last_used_at else None,
    )


def _ms(at: datetime.datetime) -> int:
    return int(at.timestamp() * 1000)
