"""Agents, tools and providers, as they are registered; to read only."""

from django.http import HttpRequest, HttpResponse

from console.views import shell
from lifecycle_core.application import queries
from lifecycle_core.contract.actor import Actor


@shell.page("GET")
def index(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the agents."""
    context = {"agents": queries.agents(actor), "running": running(actor)}
    return shell.render(request, actor, "agents/index.html", context, section="agents")


@shell.page("GET")
def detail(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Show one agent."""
    context = {"agent": queries.agent(actor, name), "running": running(actor)}
    return shell.render(request, actor, "agents/detail.html", context, section="agents")


@shell.page("GET")
def tools(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the tools and the providers."""
    context = {"tools": queries.tools(actor), "providers": queries.providers(actor), "tab": "tools"}
    return shell.render(request, actor, "tools/index.html", context, section="system")


def running(actor: Actor) -> set[str]:
    """Return the providers that can run something here."""
    return {provider.key for provider in queries.providers(actor) if provider.implemented}
