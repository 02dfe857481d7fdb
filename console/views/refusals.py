"""Refusals as pages: the sentence, and where to go from there."""

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from console import errors, sentences
from lifecycle_core.contract import errors as contract
from lifecycle_core.contract.errors import Refused


def page(request: HttpRequest, refused: Refused, *, allow: Iterable[str] = ()) -> HttpResponse:
    """Answer with the page of a refusal."""
    status = errors.status_of(refused)
    context = {
        "status": int(status),
        "code": refused.code,
        "sentence": sentences.sentence(refused),
        "refused": refused,
        "problems": getattr(refused, "problems", ()),
    }
    response = render(request, f"errors/page.html{part_of(request)}", context, status=status)
    if "HX-Request" in request.headers and not part_of(request):
        # A part of a page stays as it was: the refusal has no place there.
        response["HX-Reswap"] = "none"
    if allow:
        response["Allow"] = ", ".join(sorted(allow))
    return response


def part_of(request: HttpRequest) -> str:
    """Return the part of the page that fits beside the inbox, when htmx asks for what stands there."""
    return "#detail" if request.headers.get("HX-Target", "").endswith("#detail") else ""


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400 in the house."""
    return page(request, errors.BadRequest())


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403 in the house."""
    return page(request, contract.Forbidden())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404 in the house."""
    return page(request, contract.NotFound())


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without a valid token: most often an old page."""
    return page(
        request, contract.Forbidden(reason=_("This form is too old. Go back, reload the page and try again."))
    )


def broken(request: HttpRequest) -> HttpResponse:
    """Answer 500 in the house."""
    return page(request, errors.Internal())
