"""The frame of every page: who asks, what he may do, and what becomes of a refusal."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, Final

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render as render_template
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django_htmx.http import HttpResponseClientRedirect

from console import actors, errors
from console.views import refusals
from lifecycle_core.application import feed, members, permissions, queries
from lifecycle_core.contract.actor import Actor, Permission
from lifecycle_core.contract.errors import Refused

type View[**P] = Callable[Concatenate[HttpRequest, Actor, P], HttpResponse]

CURSOR: Final = "lifecycle.cursor"
SAFE: Final = frozenset({"GET", "HEAD"})


def page[**P](*methods: str) -> Callable[[View[P]], Callable[Concatenate[HttpRequest, P], HttpResponse]]:
    """Make a view answer some methods for signed-in members, and turn refusals into pages."""
    allowed = SAFE | set(methods) if "GET" in methods else set(methods)

    def decorate(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
        @wraps(view)
        def answer(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if request.method not in allowed:
                return refusals.page(request, errors.MethodNotAllowed(), allow=allowed)
            if not request.user.is_authenticated:
                return to_login(request)
            try:
                actor = actors.of(request)
                note_cursor(request, actor)
                response = view(request, actor, *args, **kwargs)
            except Refused as refused:
                return refusals.page(request, refused)
            add_never_cache_headers(response)
            return response

        return answer

    return decorate


def to_login(request: HttpRequest) -> HttpResponse:
    """Send whoever is not signed in to the door; htmx must not put the door into the page."""
    if request.headers.get("HX-Request"):
        return HttpResponseClientRedirect(reverse("account_login"))
    return redirect_to_login(request.get_full_path() if request.method in SAFE else "/")


def render(
    request: HttpRequest,
    actor: Actor,
    template: str,
    context: Mapping[str, object],
    *,
    section: str,
    status: int = 200,
) -> HttpResponse:
    """Render a page inside the frame, or only one of its parts (`file.html#part`)."""
    frame = {} if "#" in template or request.headers.get("HX-Request") else surroundings(request, actor)
    everything = {**frame, "actor": actor, "may": may(actor), "section": section, **context}
    return render_template(request, template, everything, status=status)


def surroundings(request: HttpRequest, actor: Actor) -> dict[str, object]:
    """Gather what the frame shows: where the feed stands, what waits, and the person's tenants."""
    return {
        "cursor": request.META[CURSOR],
        "waiting": queries.inbox_counts(actor)["mine"],
        "tenants": members.tenants_of(request.user),
    }


def note_cursor(request: HttpRequest, actor: Actor) -> None:
    """Note where the feed stands before anything is read: what comes after that is told by the socket."""
    epoch, position = feed.head(actor)
    request.META[CURSOR] = {"epoch": epoch, "position": position}


def may(actor: Actor) -> dict[str, bool]:
    """Say what buttons to draw; the use cases ask again."""
    return {right.name.lower(): permissions.can(actor, right) for right in Permission}


def wants_part(request: HttpRequest, target: str) -> bool:
    """Tell whether htmx asks for what stands in one element of a page, named by its id."""
    asked = request.headers.get("HX-Target", "")
    return request.headers.get("HX-Request") == "true" and asked.rpartition("#")[2] == target
