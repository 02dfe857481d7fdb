"""The inbox: four groups of what waits, runs and is done; the list beside every card."""

from typing import Final, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.views import attempts, filters, shell
from lifecycle_core.application import queries
from lifecycle_core.application.resources import InboxRow
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.status import Status

type Group = Literal["mine", "others", "running", "done"]

GROUPS: Final[tuple[Group, ...]] = ("mine", "others", "running", "done")
ROUTES: Final = {"approval": "pages:approval", "input": "pages:input", "invocation": "pages:invocation"}


@shell.page("GET")
def home(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Begin where people are needed."""
    return redirect("pages:inbox")


@shell.page("GET")
def index(request: HttpRequest, actor: Actor, group: str = "mine") -> HttpResponse:
    """Show one group of the inbox."""
    if group not in GROUPS:
        raise errors.NotFound
    template = "inbox/index.html"
    if shell.wants_part(request, "entries"):
        template = "inbox/news.html"
    elif shell.wants_part(request, "detail"):
        template = "inbox/index.html#detail"
    context = {**listing(request, actor, group), **after_decision(request, actor)}
    return shell.render(request, actor, template, context, section="inbox")


@shell.page("GET")
def badge(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show how many requests need this person."""
    waiting = queries.inbox_counts(actor)["mine"]
    return shell.render(request, actor, "console.html#badge", {"waiting": waiting}, section="")


def listing(request: HttpRequest, actor: Actor, group: Group, selected: str = "") -> dict[str, object]:
    """Gather the list of a group with the counts of all, under the filters of the address."""
    chosen = filters.read(request, filters.INBOX)
    page = queries.inbox(actor, group, cursor=request.GET.get("cursor") or None, **chosen)
    return {
        "group": group,
        "groups": [(name, count) for name, count in queries.inbox_counts(actor, **chosen).items()],
        "rows": [(row, address(row) + filters.write(chosen, group=group)) for row in page.items],
        "next": page.next,
        "filters": chosen,
        "query": filters.write(chosen),
        "selected": selected,
    }


def beside(request: HttpRequest, actor: Actor, group: Group, selected: str) -> dict[str, object]:
    """Gather the list that stands beside a card, or only the reader's place where the card alone is wanted."""
    if shell.wants_part(request, "detail"):
        chosen = filters.read(request, filters.INBOX)
        return {"group": group, "query": filters.write(chosen)}
    return listing(request, actor, group, selected)


def group_of(request: HttpRequest, fallback: Group) -> Group:
    """Return the group that the reader came from."""
    named = request.GET.get("group", fallback)
    return named if named in GROUPS else fallback


def address(row: InboxRow) -> str:
    """Return where a row leads; an invocation of which nobody knows how it ended leads to what is open."""
    route = "pages:resolve" if row.state == Status.UNKNOWN else ROUTES[row.kind]
    return reverse(route, args=[row.id])


def after(request: HttpRequest, actor: Actor, done: str, kind: str) -> HttpResponse:
    """Go on to the next request after one is done, or to the list when nothing else needs this person."""
    chosen = filters.read(request, filters.INBOX)
    rows = queries.inbox(actor, "mine", limit=2, **chosen).items
    waiting = next((row for row in rows if row.id != done), None)
    place = address(waiting) if waiting else reverse("pages:inbox")
    response = redirect(place + filters.write(chosen, **{kind: done}))
    response.status_code = 303
    return response


def after_decision(request: HttpRequest, actor: Actor) -> dict[str, object]:
    """Say what was just decided or answered and what came of it, so that it stays one key away."""
    return {
        "decided": attempts.find(request.GET.get("decided", ""), lambda done: queries.approval(actor, done)),
        "answered": attempts.find(request.GET.get("answered", ""), lambda done: queries.input(actor, done)),
    }
