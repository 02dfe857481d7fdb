"""Leases: who drives what now."""

from ninja import Router, Schema

from console.api.authentication import Request
from console.api.shapes import Instant, Page
from lifecycle_core.application import queries

router = Router(tags=["leases"])


class Lease(Schema):
    """A worker's right to drive an invocation; only who knows its `token` may write."""

    invocation: str
    agent: str
    action: str
    delivery: str
    status: str
    worker: str
    token: int
    since: Instant
    expires_at: Instant


@router.get("", response=Page[Lease], summary="List live leases")
def listed(request: Request) -> dict[str, object]:
    return {"items": queries.leases(request.auth), "next": None}
