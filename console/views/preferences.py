"""What a person prefers: colours, language and the tenant in view."""

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST

from console import actors
from console.templatetags import theme as themes
from console.views import shell
from lifecycle_core.application import members
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.errors import Forbidden

YEAR: Final = 365 * 24 * 3600


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the colours in a cookie; also before signing in."""
    chosen = request.POST.get("theme", "")
    if chosen not in themes.THEMES:
        chosen = "auto"
    return remembered(back(request), themes.COOKIE, chosen)


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Remember the language in a cookie; also before signing in."""
    chosen = request.POST.get("language", "")
    known = dict(settings.LANGUAGES)
    if chosen not in known or not check_for_language(chosen):
        chosen = settings.LANGUAGE_CODE
    return remembered(back(request), settings.LANGUAGE_COOKIE_NAME, chosen)


@shell.page("POST")
def tenant(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Look at another tenant from now on."""
    chosen = request.POST.get("tenant", "")
    if chosen not in members.tenants_of(request.user):
        raise Forbidden(reason="You are not a member of this tenant.")
    request.session[actors.TENANT] = chosen
    return redirect("pages:inbox")


@shell.page("GET")
def keys(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the keys."""
    return shell.render(request, actor, "help/index.html", {}, section="keys")


def remembered(response: HttpResponse, name: str, value: str) -> HttpResponse:
    """Set a preference that no script needs to read."""
    secure = bool(settings.SESSION_COOKIE_SECURE)
    response.set_cookie(name, value, max_age=YEAR, httponly=True, samesite="Strict", secure=secure)
    return response


def back(request: HttpRequest) -> HttpResponse:
    """Return to the page that asked, if it is one of ours."""
    wanted = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return redirect(wanted if ours and wanted.startswith("/") else reverse("pages:inbox"))
