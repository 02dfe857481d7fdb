"""Deliveries: what was asked for, as a whole; cancel and retire."""

import uuid
from collections import Counter
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from console import errors as http
from console import sentences, words
from console.views import attempts, filters, reasons, shell
from lifecycle_core.application import deliveries, permissions, queries
from lifecycle_core.application.resources import DeliveryItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.status import ACTIVE

FILTERS: Final = ("text",)


@shell.page("GET")
def index(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List deliveries, newest first."""
    chosen = filters.read(request, FILTERS)
    page = queries.deliveries(actor, cursor=request.GET.get("cursor") or None, **chosen)
    rows = [(delivery, whole(delivery), tally(delivery)) for delivery in page.items]
    context = {"rows": rows, "next": page.next, "filters": chosen, "query": filters.write(chosen)}
    part = "#rows" if shell.wants_part(request, "rows") else ""
    return shell.render(request, actor, f"deliveries/index.html{part}", context, section="deliveries")


@shell.page("GET")
def detail(request: HttpRequest, actor: Actor, delivery_id: uuid.UUID) -> HttpResponse:
    """Show a delivery with each of its invocations."""
    delivery = queries.delivery(actor, delivery_id)
    context = {
        "delivery": delivery,
        "whole": whole(delivery),
        "tally": tally(delivery),
        "active": active(delivery),
    }
    part = "#rows" if shell.wants_part(request, "rows") else ""
    return shell.render(request, actor, f"deliveries/detail.html{part}", context, section="deliveries")


@shell.page("GET", "POST")
def cancel(request: HttpRequest, actor: Actor, delivery_id: uuid.UUID) -> HttpResponse:
    """Ask for the reason, and cancel everything of a delivery that has not ended."""
    delivery = queries.delivery(actor, delivery_id)
    permissions.check_can_cancel_delivery(actor)
    refusal: errors.Refused | None = None
    if request.method == "POST":
        attempt = attempts.run(
            lambda: deliveries.cancel(
                actor,
                delivery_id,
                reason=reasons.of(request),
                comment=request.POST.get("comment", ""),
                key=request.POST.get("key") or None,
            )
        )
        if not isinstance(attempt, errors.Refused):
            return redirect("pages:delivery", delivery_id)
        refusal = attempt
    return asking(request, actor, delivery, "cancel", refusal)


@shell.page("GET", "POST")
def retire(request: HttpRequest, actor: Actor, delivery_id: uuid.UUID) -> HttpResponse:
    """Say what would be deleted and what would remain, and retire when the identity is typed."""
    delivery = queries.delivery(actor, delivery_id)
    permissions.check_can_retire(actor)
    refusal: errors.Refused | None = None
    wrong = unconfirmed(request, delivery) if request.method == "POST" else []
    if wrong:
        refusal = errors.SchemaInvalid(problems=wrong)
    elif request.method == "POST":
        attempt = attempts.run(
            lambda: deliveries.retire(
                actor,
                delivery_id,
                authorization=request.POST.get("authorization", ""),
                manifest_binding=request.POST.get("manifest_binding") or None,
                activation_binding=request.POST.get("activation_binding") or None,
                key=request.POST.get("key") or None,
            )
        )
        if not isinstance(attempt, errors.Refused):
            return redirect("pages:tombstone", attempt.id)
        refusal = attempt
    return asking(request, actor, delivery, "retire", refusal)


def unconfirmed(request: HttpRequest, delivery: DeliveryItem) -> list[errors.Problem]:
    """Return everything that is missing before a delivery may be retired."""
    problems = []
    if not request.POST.get("authorization", "").strip():
        problems.append(errors.Problem("/authorization", _("Something is needed here.")))
    if request.POST.get("typed", "") != delivery.identity:
        problems.append(errors.Problem("/typed", _("This is not the identity of the delivery.")))
    return problems


def asking(
    request: HttpRequest,
    actor: Actor,
    delivery: DeliveryItem,
    what: str,
    refusal: errors.Refused | None,
) -> HttpResponse:
    """Render the page that asks before something is done to a whole delivery."""
    context = {
        "delivery": delivery,
        "tally": tally(delivery),
        "reasons": words.CANCEL_REASON.items(),
        "typed": request.POST.get("typed", ""),
        "authorization": request.POST.get("authorization", ""),
        "open": sum(len(invocation.open_requests) for invocation in delivery.invocations),
        "key": uuid.uuid4(),
        "refusal": refusal and sentences.sentence(refusal),
        "problems": getattr(refusal, "problems", ()),
    }
    status = http.status_of(refusal) if refusal else 200
    return shell.render(
        request, actor, f"deliveries/{what}.html", context, section="deliveries", status=status
    )


def tally(delivery: DeliveryItem) -> list[tuple[str, int]]:
    """Count the invocations of a delivery by status."""
    return sorted(Counter(invocation.status for invocation in delivery.invocations).items())


def active(delivery: DeliveryItem) -> bool:
    """Tell whether anything of a delivery has not ended."""
    return any(invocation.status in ACTIVE for invocation in delivery.invocations)


def whole(delivery: DeliveryItem) -> str:
    """Return the aggregate of a delivery; where the contract says that it has ended although a part of it waits, say both."""
    return "partly" if delivery.process == "terminal" and active(delivery) else delivery.process
