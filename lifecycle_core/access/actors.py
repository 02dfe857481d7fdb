"""Find out who asks and what he may do, from the rows as they are now."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

from lifecycle_core.access import roles, tokens
from lifecycle_core.access.models import Membership
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor


def for_user(user: AbstractBaseUser | AnonymousUser, tenant: str) -> Actor:
    """Return the actor that a signed-in person is in a tenant.

    Raises `Unauthenticated` for nobody and for a closed account, and `Forbidden` without a membership.
    """
    row = User.objects.filter(pk=user.pk, is_active=True).first() if user.pk else None
    if row is None:
        raise errors.Unauthenticated
    membership = Membership.objects.filter(user=row, tenant_id=tenant).first()
    if membership is None:
        raise errors.Forbidden(reason="You are not a member of this tenant.")
    granted = roles.permissions(membership.roles)
    return Actor(tenant=tenant, name=f"user:{row.get_username()}", permissions=granted)


def tenants_of(user: AbstractBaseUser | AnonymousUser) -> list[str]:
    """Return the tenants that a person is a member of, by name."""
    if not user.pk:
        return []
    mine = Membership.objects.filter(user_id=user.pk).order_by("tenant_id")
    return list(mine.values_list("tenant_id", flat=True))


def for_token(bearer: str) -> Actor:
    """Return the actor that a bearer token stands for. Raises `Unauthenticated`."""
    token = tokens.find(bearer)
    if token is None:
        raise errors.Unauthenticated
    tokens.note_use(token)
    granted = roles.permissions(token.roles)
    return Actor(tenant=token.tenant_id, name=f"token:{token.name}", permissions=granted)
