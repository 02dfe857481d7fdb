"""Receipts of what people and hosts answered (reference: seed-contracts 3.1)."""

from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from lifecycle_core.contract.digests import Json
from lifecycle_core.journal.models import InputRequest


def of(invocations: list[UUID]) -> Mapping[UUID, list[Json]]:
    """Return the receipts of some invocations in the order of their answers, in one query."""
    found: defaultdict[UUID, list[Json]] = defaultdict(list)
    if not invocations:
        return found
    answered = InputRequest.objects.filter(invocation_id__in=invocations, state="answered")
    for asked in answered.order_by("closed_at", "requested_at"):
        found[asked.invocation_id].append(receipt(asked))
    return found


def receipt(asked: InputRequest) -> Json:
    """Return the receipt of one answered question; it links the question to what was answered."""
    return {
        "identity": asked.receipt,
        "requestIdentity": asked.request_identity,
        "responseIdentity": asked.content_identity,
    }
