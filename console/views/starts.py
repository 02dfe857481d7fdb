"""Starting an invocation: choose an agent and an action, fill in the form of its input schema."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console import errors as http
from console import sentences
from console.forms import editor
from console.views import agents, attempts, shell
from lifecycle_core.application import invocations, permissions, queries
from lifecycle_core.application.resources import ActionItem, AgentItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor


@shell.page("GET")
def choose(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show what can be started."""
    permissions.check_can_start(actor)
    context = {"agents": queries.agents(actor), "running": agents.running(actor)}
    return shell.render(request, actor, "invocations/choose.html", context, section="start")


@shell.page("GET", "POST")
def start(request: HttpRequest, actor: Actor, agent: str, action: str) -> HttpResponse:
    """Show the form of an action, and start it."""
    permissions.check_can_start(actor)
    chosen = queries.agent(actor, agent)
    task = find(chosen, action)
    form = editor.of(request, task.input_schema)
    if request.method != "POST" or form.adjusted or form.problems:
        return filling(request, actor, chosen, task, form)
    attempt = attempts.run(
        lambda: invocations.start(
            actor,
            agent=agent,
            action=action,
            input=form.value,
            delivery=request.POST.get("delivery", "").strip() or None,
            key=request.POST.get("key") or None,
        )
    )
    if isinstance(attempt, errors.SchemaInvalid):
        return filling(request, actor, chosen, task, form.marked(attempt.problems))
    if isinstance(attempt, errors.Refused):
        return filling(request, actor, chosen, task, form, attempt)
    return redirect("pages:invocation", attempt.id)


def find(agent: AgentItem, name: str) -> ActionItem:
    """Return an action of an agent. Raises `NotFound`."""
    found = next((action for action in agent.actions if action.name == name), None)
    if found is None:
        raise errors.NotFound
    return found


def filling(
    request: HttpRequest,
    actor: Actor,
    agent: AgentItem,
    action: ActionItem,
    form: editor.Editor,
    refusal: errors.Refused | None = None,
) -> HttpResponse:
    """Render the form with what was typed and what is wrong with it."""
    context = {
        "agent": agent,
        "runs": agent.provider in agents.running(actor),
        "action": action,
        "form": form,
        "delivery": request.POST.get("delivery", ""),
        "key": uuid.uuid4(),
        "refusal": refusal and sentences.sentence(refusal),
    }
    wrong = 422 if form.problems and not form.adjusted else 200
    status = http.status_of(refusal) if refusal else wrong
    return shell.render(request, actor, "invocations/start.html", context, section="start", status=status)
