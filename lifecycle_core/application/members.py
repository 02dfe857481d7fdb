"""Use cases over people and what they may do in a tenant."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth import password_validation
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import transaction

from lifecycle_core.access import actors, roles
from lifecycle_core.access.models import Membership
from lifecycle_core.application import permissions, tenants
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor


@dataclass(frozen=True, kw_only=True)
class MemberItem:
    """One person in one tenant."""

    username: str
    roles: Sequence[str]
    active: bool


def exists(username: str) -> bool:
    """Tell whether a person of that name can sign in somewhere, so that no new password is needed."""
    return User.objects.filter(username=username).exists()


@transaction.atomic
def add(actor: Actor, *, username: str, given: Sequence[str], password: str | None = None) -> MemberItem:
    """Give a person some roles in the actor's tenant, and make the person where there is none of that name.

    A membership that is there gets exactly the given roles. Raises `ConfigurationInvalid` for an unknown role, a bad
    name and a password that is missing or too weak.
    """
    permissions.check_can_administer(actor)
    tenants.check(actor.tenant)
    check_roles(given)
    user = User.objects.filter(username=username).first() or _create(username, password)
    Membership.objects.update_or_create(user=user, tenant_id=actor.tenant, defaults={"roles": list(given)})
    return MemberItem(username=username, roles=tuple(given), active=user.is_active)


def first_owner(actor: Actor, *, username: str) -> str | None:
    """Make the owner where nobody can sign in yet, and return the password; nothing where there is anybody at all.

    An account that is there is never given rights here, whatever its name.
    """
    if User.objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    add(actor, username=username, given=["owner"], password=password)
    return password


@transaction.atomic
def add_people(actor: Actor, people: Mapping[str, Sequence[str]], *, password: str) -> None:
    """Make people with roles by name, all of whom sign in with the same password, for a demo or a course."""
    permissions.check_can_administer(actor)
    tenants.check(actor.tenant)
    hashed = make_password(password)
    for username, given in people.items():
        check_roles(given)
        user = _create(username, password, hashed)
        Membership.objects.create(user=user, tenant_id=actor.tenant, roles=list(given))


def remove(actor: Actor, *, username: str) -> None:
    """Take a person's rights in the actor's tenant away, from the next request on. Raises `NotFound`."""
    permissions.check_can_administer(actor)
    removed, _ = Membership.objects.filter(user__username=username, tenant_id=actor.tenant).delete()
    if not removed:
        raise errors.NotFound


def listed(actor: Actor) -> list[MemberItem]:
    """Return the members of the actor's tenant by name."""
    permissions.check_can_administer(actor)
    rows = Membership.objects.filter(tenant_id=actor.tenant).select_related("user").order_by("user__username")
    return [
        MemberItem(username=r.user.get_username(), roles=tuple(r.roles), active=r.user.is_active)
        for r in rows
    ]


def actor_of(user: AbstractBaseUser | AnonymousUser, tenant: str) -> Actor:
    """Return who a signed-in person is in a tenant now. Raises `Unauthenticated`, `Forbidden`."""
    return actors.for_user(user, tenant)


def tenants_of(user: AbstractBaseUser | AnonymousUser) -> list[str]:
    """Return the tenants that a person is a member of, by name."""
    return actors.tenants_of(user)


def check_roles(given: Sequence[str]) -> None:
    """Refuse an empty list and a role that is not known. Raises `ConfigurationInvalid`."""
    known = ", ".join(roles.PERMISSIONS)
    if not given:
        raise errors.ConfigurationInvalid(detail=f"At least one role is needed: {known}.")
    if unknown := roles.unknown(given):
        raise errors.ConfigurationInvalid(detail=f"There is no role {', '.join(unknown)}. Roles: {known}.")


def _create(username: str, password: str | None, hashed: str | None = None) -> User:
    """Make a person who can sign in; `hashed` saves the slow hash of a password that was hashed before."""
    user = User(username=username)
    try:
        user.full_clean(exclude=["password"])
        if not password:
            raise ValidationError("A password is needed for a new person.")
        password_validation.validate_password(password, user)
    except ValidationError as cause:
        raise errors.ConfigurationInvalid(detail=f"{username}: {' '.join(cause.messages)}") from cause
    user.password = hashed or make_password(password)
    user.save()
    return user
