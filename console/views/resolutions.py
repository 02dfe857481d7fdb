"""An unknown invocation: what nobody knows and why, and what a coordinator says about it."""

import uuid
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console import errors as http
from console import sentences
from console.forms import findings
from console.forms.findings import Resolving
from console.views import attempts, shell
from lifecycle_core.application import permissions, queries, resolutions
from lifecycle_core.application.resources import ApprovalItem, InvocationItem, OpenIntent
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.status import Status


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A card of the form with the approval that the call was sent under, if people were asked."""

    card: findings.Card
    approval: ApprovalItem | None


@shell.page("GET", "POST")
def detail(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """Show the calls of which nobody knows whether they happened, and take what a coordinator found out."""
    invocation = queries.invocation(actor, invocation_id)
    if request.method == "POST":
        permissions.check_can_resolve(actor)
    elif invocation.status != Status.UNKNOWN:
        return redirect("pages:invocation", invocation_id)
    intents = resolutions.open_intents(actor, invocation_id)
    if request.method != "POST":
        return asking(request, actor, invocation, findings.blank(intents))
    form = findings.read(request.POST, intents)
    outcome = form.outcome
    if outcome is None or (form.problems and invocation.status == Status.UNKNOWN):
        return asking(request, actor, invocation, form)
    attempt = attempts.run(
        lambda: resolutions.resolve(
            actor,
            invocation_id,
            outcome=outcome,
            reason=form.reason,
            findings=form.findings,
            key=request.POST.get("key") or None,
        )
    )
    if isinstance(attempt, errors.Refused):
        return asking(request, actor, queries.invocation(actor, invocation_id), form, attempt)
    return redirect("pages:invocation", invocation_id)


def asking(
    request: HttpRequest,
    actor: Actor,
    invocation: InvocationItem,
    form: Resolving,
    refusal: errors.Refused | None = None,
) -> HttpResponse:
    """Render the form with what was said and what is wrong with it; who may not resolve sees the calls alone."""
    unknown = invocation.status == Status.UNKNOWN
    sentence = refusal and (
        sentences.sentence(refusal) if unknown else _("Somebody has resolved it already.")
    )
    context = {
        "invocation": invocation,
        "unknown": unknown,
        "form": form,
        "cards": [Asked(card=card, approval=approved(actor, card.intent)) for card in form.cards],
        "key": request.POST.get("key") or uuid.uuid4(),
        "refusal": sentence,
    }
    status = http.status_of(refusal) if refusal else 422 if form.problems else 200
    return shell.render(
        request, actor, "invocations/resolve.html", context, section="invocations", status=status
    )


def approved(actor: Actor, intent: OpenIntent) -> ApprovalItem | None:
    """Return the approval under which a call was sent."""
    return intent.approval and attempts.find(intent.approval, lambda found: queries.approval(actor, found))  # type: ignore[return-value]
