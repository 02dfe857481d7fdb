"""Receipts of what people and hosts answered (reference: seed-contracts 3.1)."""

from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from django.db.models import OuterRef, Subquery

from lifecycle_core.contract.digests import Json
from lifecycle_core.journal.models import InputRequest, ToolCall


def of(invocations: list[UUID]) -> Mapping[UUID, list[Json]]:
    """Return the receipts of some invocations in the order of their answers, in one query."""
    found: defaultdict[UUID, list[Json]] = defaultdict(list)
    if not invocations:
        return found
    # One question is open at a time, so the answers came in the order of the calls that asked; a clock may stand still.
    call = ToolCall.objects.filter(invocation=OuterRef("invocation"), identity=OuterRef("call"))
    answered = InputRequest.objects.filter(invocation_id__in=invocations, state="answered")
    by_call = (Subquery(call.values("model_turn")), Subquery(call.values("index")))
    for asked in answered.order_by(*by_call):
        found[asked.invocation_id].append(receipt(asked))
    return found


def receipt(asked: InputRequest) -> Json:
    """Return the receipt of one answered question; it links the question to what was answered."""
    return {
        "identity": asked.receipt,
        "requestIdentity": asked.request_identity,
        "responseIdentity": asked.content_identity,
    }
