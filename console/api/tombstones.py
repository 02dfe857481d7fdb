"""Tombstones: list, show; each by its `id`, which was the delivery's, or by the identity that its host gave it."""

from ninja import Router, Schema

from console.api import wire
from console.api.authentication import Request
from console.api.shapes import Instant, Object, Page
from lifecycle_core.application import queries, references, resources

router = Router(tags=["tombstones"])


class Tombstone(Schema):
    """What is left of a retired delivery; `decisions` are counts."""

    id: str
    delivery: str
    authorization: str
    fact: Object
    retired_by: str
    retired_at: Instant
    invocations: int
    events: int
    decisions: dict[str, int]
    chain_heads: dict[str, str]


@router.get("", response=Page[Tombstone], summary="List tombstones")
def listed(
    request: Request, text: wire.Text = None, cursor: wire.Cursor = None, limit: wire.Limit = 50
) -> resources.Page[resources.TombstoneItem]:
    return queries.tombstones(request.auth, text=text, cursor=cursor, limit=limit)


@router.get("/{tombstone}", response=Tombstone, summary="Show a tombstone")
def shown(request: Request, tombstone: str) -> resources.TombstoneItem:
    return queries.tombstone(request.auth, references.delivery(request.auth, tombstone))
