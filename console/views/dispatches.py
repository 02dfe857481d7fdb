"""The dispatch of an invocation: everything that it was started with, and what each part is bound to."""

import uuid

from django.http import HttpRequest, HttpResponse

from console import bindings, contract_words
from console.views import invocations, shell
from lifecycle_core.application import queries
from lifecycle_core.contract.actor import Actor

ADMITTED = "invocation.admitted"


@shell.page("GET")
def detail(request: HttpRequest, actor: Actor, invocation_id: uuid.UUID) -> HttpResponse:
    """Show every binding of a dispatch, each derived digest computed again."""
    invocation = queries.invocation(actor, invocation_id)
    dispatch = queries.dispatch(actor, invocation_id)
    sealed = queries.sealed(actor, invocation_id)
    parts = bindings.parts(dispatch, invocation.attempt, admitted(actor, invocation_id), sealed=sealed)
    derived = bindings.derived(parts)
    context = {
        "dispatch": dispatch,
        "parts": parts,
        "members": contract_words.MEMBER,
        "purposes": contract_words.PURPOSE,
        "derived": len(derived),
        "wrong": sum(not binding.agrees for binding in derived),
    }
    return invocations.depth(request, actor, invocation, "dispatch", context)


def admitted(actor: Actor, invocation_id: uuid.UUID) -> str:
    """Return the digest of the dispatch in the fact of its admission; empty where that is not to be read."""
    facts = queries.events(actor, invocation_id, kind=ADMITTED, limit=1).items
    return str(facts[0].payload.get("dispatch_digest", "")) if facts else ""
