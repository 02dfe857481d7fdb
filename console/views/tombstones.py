"""Tombstones: what is left of retired deliveries."""

import uuid
from typing import Final

from django.http import HttpRequest, HttpResponse

from console.views import filters, shell
from lifecycle_core.application import journals, queries
from lifecycle_core.contract.actor import Actor

FILTERS: Final = ("text",)


@shell.page("GET")
def index(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List tombstones, newest first."""
    chosen = filters.read(request, FILTERS)
    page = queries.tombstones(actor, cursor=request.GET.get("cursor") or None, **chosen)
    context = {"page": page, "filters": chosen, "query": filters.write(chosen)}
    part = "#rows" if shell.wants_part(request, "rows") else ""
    return shell.render(request, actor, f"tombstones/index.html{part}", context, section="tombstones")


@shell.page("GET")
def detail(request: HttpRequest, actor: Actor, tombstone_id: uuid.UUID) -> HttpResponse:
    """Show one tombstone."""
    context = {"tombstone": queries.tombstone(actor, tombstone_id)}
    return shell.render(request, actor, "tombstones/detail.html", context, section="tombstones")


@shell.page("GET")
def verify(request: HttpRequest, actor: Actor, tombstone_id: uuid.UUID) -> HttpResponse:
    """Check every chain of the tenant, that of the tombstones included."""
    context = {"tombstone": queries.tombstone(actor, tombstone_id), "verification": journals.verify(actor)}
    return shell.render(request, actor, "tombstones/detail.html", context, section="tombstones")
