"""The journal of an invocation: every fact, flat; one fact raw; the whole to take away; the check of its chain."""

import uuid
from typing import Final

from django.http import HttpRequest, HttpResponse

from console import streams
from console.views import filters, invocations, shell
from lifecycle_core.application import journals, queries
from lifecycle_core.application.resources import EventItem
from lifecycle_core.contract import errors, events
from lifecycle_core.contract.actor import Actor

FILTERS: Final = ("kind", "actor_name", "text")
EVENTS: Final = 200


@shell.page("GET")
def index(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """List the facts of an invocation in their order, under filters."""
    invocation = queries.invocation(actor, invocation_id)
    chosen = filters.read(request, FILTERS)
    page = queries.events(actor, invocation_id, after=after(request), limit=EVENTS, **chosen)
    context = {
        "events": page.items,
        "next": page.next,
        "filters": chosen,
        "query": filters.write(chosen),
        "kinds": sorted(events.BY_KIND),
    }
    return invocations.depth(request, actor, invocation, "journal", context)


@shell.page("GET")
def event(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID, seq: int) -> HttpResponse:
    """Show one fact as it is stored."""
    invocation = queries.invocation(actor, invocation_id)
    context = {"event": one(actor, invocation_id, seq)}
    return invocations.depth(request, actor, invocation, "event", context)


@shell.page("GET")
def verify(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """Check the hash chain of an invocation."""
    invocation = queries.invocation(actor, invocation_id)
    verification = journals.verify(actor, invocation=invocation_id)
    return invocations.depth(request, actor, invocation, "verify", {"verification": verification})


@shell.page("GET")
def export(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """Give the journal as NDJSON, one fact a line."""
    lines = journals.export(actor, invocation=invocation_id)
    return streams.ndjson(lines, f"journal-{invocation_id}")  # type: ignore[return-value]


def after(request: HttpRequest) -> int:
    """Return the fact after which the page begins."""
    given = request.GET.get("after", "0")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 16 else 0


def one(actor: Actor, invocation_id: uuid.UUID, seq: int) -> EventItem:
    """Return one fact. Raises `NotFound`."""
    found = queries.events(actor, invocation_id, after=seq - 1, limit=1).items
    if not found or found[0].seq != seq:
        raise errors.NotFound
    return found[0]
