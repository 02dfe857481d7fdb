"""Find out who is behind a request: a person by the session, or a program by its bearer token."""

from typing import Final

from django.contrib.auth import get_user
from django.http import HttpRequest

from lifecycle_core.application import members, tokens
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor

TENANT: Final = "tenant"  # the session's key for the tenant that the person has chosen
SCHEME: Final = "bearer"
LONGEST: Final = 200


def of(request: HttpRequest) -> Actor:
    """Return the signed-in person in the tenant that he has chosen, else in his first.

    Raises `Unauthenticated` for nobody and `Forbidden` for a person without any tenant.
    """
    user = get_user(request)
    mine = members.tenants_of(user)
    if user.is_authenticated and not mine:
        raise errors.Forbidden(reason="You are not a member of any tenant.")
    chosen = request.session.get(TENANT)
    return members.actor_of(user, chosen if chosen in mine else next(iter(mine), ""))


def of_bearer(request: HttpRequest) -> Actor:
    """Return the program whose token the request carries. Raises `Unauthenticated`."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    text = text.strip()
    if scheme.lower() != SCHEME or not text.isascii() or len(text) > LONGEST:
        raise errors.Unauthenticated
    return tokens.actor_of(text)
