"""Another attempt at an invocation that has failed, was invalid or was cancelled."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console import errors as http
from console import sentences
from console.views import attempts, shell
from lifecycle_core.application import permissions, queries, retries
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor


@shell.page("GET", "POST")
def retry(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """Say what another attempt means, and start it."""
    invocation = queries.invocation(actor, invocation_id)
    permissions.check_can_start(actor)
    refusal: errors.Refused | None = None
    if request.method == "POST":
        key = request.POST.get("key") or None
        attempt = attempts.run(lambda: retries.retry(actor, invocation_id, key=key))
        if not isinstance(attempt, errors.Refused):
            return redirect("pages:invocation", attempt.id)
        refusal = attempt
    context = {
        "invocation": invocation,
        "outlook": retries.outlook(actor, invocation),
        "key": uuid.uuid4(),
        "refusal": refusal and sentences.sentence(refusal),
    }
    status = http.status_of(refusal) if refusal else 200
    return shell.render(
        request, actor, "invocations/retry.html", context, section="invocations", status=status
    )
