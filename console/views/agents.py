"""Agents, tools and providers, as they are registered; and how a version of an agent is withdrawn."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console import errors as http
from console import sentences
from console.views import attempts, shell
from lifecycle_core.application import permissions, queries, versions
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor


@shell.page("GET")
def index(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the agents."""
    context = {"agents": queries.agents(actor), "running": running(actor)}
    return shell.render(request, actor, "agents/index.html", context, section="agents")


@shell.page("GET")
def detail(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Show one agent."""
    context = {
        "agent": queries.agent(actor, name),
        "running": running(actor),
        "versions": queries.agent_versions(actor, name),
    }
    return shell.render(request, actor, "agents/detail.html", context, section="agents")


@shell.page("GET", "POST")
def withdraw(request: HttpRequest, actor: Actor, name: str, binding: str) -> HttpResponse:
    """Ask whether a version shall start nothing any more, and withdraw it."""
    version = queries.agent_version(actor, name, binding)
    permissions.check_can_administer(actor)
    refusal: errors.Refused | None = None
    if request.method == "POST":
        reason, key = request.POST.get("reason", ""), request.POST.get("key") or None
        attempt = attempts.run(
            lambda: versions.withdraw(actor, name, binding=binding, reason=reason, key=key)
        )
        if not isinstance(attempt, errors.Refused):
            return redirect("pages:agent", name)
        refusal = attempt
    context = {"version": version, "key": uuid.uuid4(), "refusal": refusal and sentences.sentence(refusal)}
    status = http.status_of(refusal) if refusal else 200
    return shell.render(request, actor, "agents/withdraw.html", context, section="agents", status=status)


@shell.page("GET")
def tools(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the tools and the providers."""
    context = {"tools": queries.tools(actor), "providers": queries.providers(actor), "tab": "tools"}
    return shell.render(request, actor, "tools/index.html", context, section="system")


def running(actor: Actor) -> set[str]:
    """Return the providers that can run something here."""
    return {provider.key for provider in queries.providers(actor) if provider.implemented}
