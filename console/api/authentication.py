"""Let programs in by their token, and our own pages by the session of whoever is signed in."""

from typing import ClassVar

from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from ninja.security.base import AuthBase

from console import actors
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor

SAFE = ("GET", "HEAD", "OPTIONS")


class Request(HttpRequest):
    """A request that has passed: `auth` is who asks."""

    auth: Actor


class Bearer(AuthBase):
    """Take `Authorization: Bearer …`. A wrong token is refused and never falls back to a session."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> Actor | None:
        return actors.of_bearer(request) if "Authorization" in request.headers else None


class Session(AuthBase):
    """Take the session cookie; what changes something needs the page's CSRF token too."""

    openapi_type = "apiKey"
    openapi_in = "cookie"
    openapi_name = "session"
    csrf: ClassVar[bool] = True

    def __call__(self, request: HttpRequest) -> Actor | None:
        if not get_user(request).is_authenticated:
            return None
        if request.method not in SAFE and lacks_csrf_token(request):
            raise errors.Forbidden(reason="Send the page's CSRF token, or use a bearer token.")
        return actors.of(request)


def lacks_csrf_token(request: HttpRequest) -> bool:
    """Ask Django's own check, which operations of the API are exempt from until we know that a cookie counts."""
    check = CsrfViewMiddleware(unreached)
    request.csrf_processing_done = False  # type: ignore[attr-defined]
    check.process_request(request)
    return check.process_view(request, unreached, (), {}) is not None


def unreached(request: HttpRequest) -> HttpResponse:
    """Stand where the check expects the view."""
    return HttpResponse()
