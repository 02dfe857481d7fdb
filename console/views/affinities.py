"""Sessions by their affinity: who shares one, who holds it, and who waits for it."""

import uuid
from typing import Final

from django.http import HttpRequest, HttpResponse

from console import bindings, contract_words
from console.views import filters, shell
from lifecycle_core.application import queries
from lifecycle_core.application.resources import AffinityItem
from lifecycle_core.contract.actor import Actor

FILTERS: Final = ("delivery", "shared")


@shell.page("GET")
def index(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List sessions, newest first."""
    chosen = filters.read(request, FILTERS)
    page = queries.affinities(
        actor,
        delivery=chosen.get("delivery"),
        shared="shared" in chosen,
        cursor=request.GET.get("cursor") or None,
    )
    rows = [(affinity, state(affinity), waiting(affinity)) for affinity in page.items]
    context = {"rows": rows, "next": page.next, "filters": chosen, "tab": "affinities"}
    part = "#rows" if shell.wants_part(request, "rows") else ""
    return shell.render(request, actor, f"affinities/index.html{part}", context, section="system")


@shell.page("GET")
def detail(request: HttpRequest, actor: Actor, affinity_id: uuid.UUID) -> HttpResponse:
    """Show one session: who uses it, in what order, and what it is bound to."""
    affinity = queries.affinity(actor, affinity_id)
    context = {
        "affinity": affinity,
        "state": state(affinity),
        "waiting": waiting(affinity),
        "scope": scope(actor, affinity),
        "part": bindings.of_affinity(affinity),
        "members": contract_words.MEMBER,
        "tab": "affinities",
    }
    part = "#rows" if shell.wants_part(request, "rows") else ""
    return shell.render(request, actor, f"affinities/detail.html{part}", context, section="system")


def state(affinity: AffinityItem) -> str:
    """Return in one word how a session stands."""
    if affinity.held:
        return "held"
    return "free" if affinity.generation else "unopened"


def waiting(affinity: AffinityItem) -> int:
    """Count the invocations that wait for a session."""
    return sum(member.waits for member in affinity.invocations)


def scope(actor: Actor, affinity: AffinityItem) -> dict[str, str]:
    """Return the scope by which the session was chosen, as the dispatch of its first user says it."""
    dispatch = queries.dispatch(actor, uuid.UUID(affinity.invocations[0].id))
    return dict(dispatch["executor"]["session"]["policy"]["scope"])
