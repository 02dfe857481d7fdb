"""Leases: which worker drives which invocation now."""

from django.http import HttpRequest, HttpResponse

from console.views import shell
from lifecycle_core.application import queries
from lifecycle_core.contract.actor import Actor


@shell.page("GET")
def index(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the live leases, the oldest invocations first."""
    context = {"leases": queries.leases(actor), "tab": "leases"}
    part = "#rows" if shell.wants_part(request, "rows") else ""
    return shell.render(request, actor, f"leases/index.html{part}", context, section="system")
