"""The decision card, and the editor of a call's arguments."""

import uuid
from typing import Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console import errors as http
from console import sentences, transcripts
from console.forms import editor
from console.views import attempts, inbox, shell
from lifecycle_core.application import approvals, permissions, queries
from lifecycle_core.application.resources import ApprovalItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json


@shell.page("GET")
def detail(request: HttpRequest, actor: Actor, approval_id: uuid.UUID) -> HttpResponse:
    """Show a call that waits for a decision, or what became of it."""
    return card(request, actor, queries.approval(actor, approval_id))


@shell.page("GET")
def outcome(request: HttpRequest, actor: Actor, approval_id: uuid.UUID) -> HttpResponse:
    """Show again what was just decided, with what came of it meanwhile."""
    context = {"decided": queries.approval(actor, approval_id)}
    return shell.render(request, actor, "inbox/just-done.html#decided", context, section="")


@shell.page("POST")
def decide(request: HttpRequest, actor: Actor, approval_id: uuid.UUID) -> HttpResponse:
    """Take a decision on exactly what was on screen."""
    decision = named(request.POST.get("decision", ""))
    given: dict[str, Json] = {"result": request.POST.get("result", "")} if decision == "respond" else {}
    attempt = attempts.run(
        lambda: approvals.decide(
            actor,
            approval_id,
            decision=decision,
            request_digest=request.POST.get("request_digest", ""),
            reason=request.POST.get("reason", ""),
            key=request.POST.get("key") or None,
            **given,
        )
    )
    if isinstance(attempt, errors.Refused):
        return refused(request, actor, approval_id, attempt)
    return inbox.after(request, actor, str(approval_id), "decided")


@shell.page("GET", "POST")
def edit(request: HttpRequest, actor: Actor, approval_id: uuid.UUID) -> HttpResponse:
    """Show and take other arguments for the same call."""
    approval = queries.approval(actor, approval_id)
    permissions.check_can_decide(actor)
    if approval.state != "pending":
        return redirect("pages:approval", approval_id)
    form = editor.of(request, schema_of(actor, approval), approval.arguments)
    if request.method != "POST" or form.adjusted or form.problems:
        return editing(request, actor, approval, form)
    attempt = attempts.run(
        lambda: approvals.decide(
            actor,
            approval_id,
            decision="edit",
            request_digest=request.POST.get("request_digest", ""),
            arguments=form.value,
            reason=request.POST.get("reason", ""),
            key=request.POST.get("key") or None,
        )
    )
    if isinstance(attempt, errors.SchemaInvalid):
        return editing(request, actor, approval, form.marked(attempt.problems))
    if isinstance(attempt, errors.Refused):
        return refused(request, actor, approval_id, attempt)
    return inbox.after(request, actor, str(approval_id), "decided")


def named(decision: str) -> Literal["approve", "reject", "respond"]:
    """Return a decision that needs no editor. Raises `BadRequest`."""
    match decision:
        case "approve" | "reject" | "respond":
            return decision
    raise http.BadRequest


def schema_of(actor: Actor, approval: ApprovalItem) -> Json:
    """Return the input schema of the tool that is called, or one that admits anything."""
    return next((tool.input_schema for tool in queries.tools(actor) if tool.name == approval.tool), True)


def card(
    request: HttpRequest, actor: Actor, approval: ApprovalItem, *, refusal: str = "", status: int = 200
) -> HttpResponse:
    """Render the card, beside the inbox where there is room."""
    group = inbox.group_of(request, "mine" if approval.state == "pending" else "done")
    context = {
        **inbox.beside(request, actor, group, approval.id),
        **inbox.after_decision(request, actor),
        "approval": approval,
        "turns": transcripts.before(actor, uuid.UUID(approval.invocation), "approval.requested", approval.id),
        "decision": approval.decisions[-1] if approval.decisions else None,
        "key": uuid.uuid4(),
        "refusal": refusal,
    }
    part = "#detail" if shell.wants_part(request, "detail") else ""
    return shell.render(
        request, actor, f"approvals/detail.html{part}", context, section="inbox", status=status
    )


def editing(request: HttpRequest, actor: Actor, approval: ApprovalItem, form: editor.Editor) -> HttpResponse:
    """Render the editor with what was typed and what is wrong with it."""
    group = inbox.group_of(request, "mine")
    context = {
        **inbox.beside(request, actor, group, approval.id),
        "approval": approval,
        "form": form,
        "key": uuid.uuid4(),
    }
    part = "#detail" if shell.wants_part(request, "detail") else ""
    status = 422 if form.problems and not form.adjusted else 200
    return shell.render(request, actor, f"approvals/edit.html{part}", context, section="inbox", status=status)


def refused(
    request: HttpRequest, actor: Actor, approval_id: uuid.UUID, refusal: errors.Refused
) -> HttpResponse:
    """Show the card as it is now, with why the decision was not taken; who comes late sees the fact."""
    approval = queries.approval(actor, approval_id)
    if isinstance(refusal, errors.AlreadyDecided | errors.RequestExpired) and approval.state != "pending":
        sentence = _("Your decision came too late; nothing was changed by it.")
    else:
        sentence = sentences.sentence(refusal)
    return card(request, actor, approval, refusal=sentence, status=http.status_of(refusal))
