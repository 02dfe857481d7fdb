"""Affinities: list, show; which invocations share which session."""

from uuid import UUID

from ninja import Router, Schema

from console.api import wire
from console.api.authentication import Request
from console.api.shapes import Instant, Page
from lifecycle_core.application import queries, resources

router = Router(tags=["affinities"])


class Member(Schema):
    id: str
    agent: str
    action: str
    attempt: int
    status: str
    generation: int
    waits: bool
    created_at: Instant


class Affinity(Schema):
    """A session and who shares it; `holder` has it now, and whoever `waits` has it when that one has ended."""

    id: str
    identity: str
    delivery: str
    delivery_id: str
    provider: str
    isolation: str
    compatibility: str
    scope_value: str
    binding: str
    opaque_identity: str
    generation: int
    messages: int
    holder: str | None
    held: bool
    invocations: list[Member]


@router.get("", response=Page[Affinity], summary="List affinities")
def listed(
    request: Request,
    delivery: wire.Text = None,
    shared: bool = False,
    cursor: wire.Cursor = None,
    limit: wire.Limit = 50,
) -> resources.Page[resources.AffinityItem]:
    return queries.affinities(request.auth, delivery=delivery, shared=shared, cursor=cursor, limit=limit)


@router.get("/{uuid:affinity}", response=Affinity, summary="Show an affinity")
def shown(request: Request, affinity: UUID) -> resources.AffinityItem:
    return queries.affinity(request.auth, affinity)
