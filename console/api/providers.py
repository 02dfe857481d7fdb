"""Providers: list, show."""

from ninja import Router, Schema

from console.api.authentication import Request
from console.api.shapes import Page
from lifecycle_core.application import queries
from lifecycle_core.application.resources import ProviderItem
from lifecycle_core.contract import errors

router = Router(tags=["providers"])


class Provider(Schema):
    key: str
    implemented: bool


@router.get("", response=Page[Provider], summary="List the providers")
def listed(request: Request) -> dict[str, object]:
    return {"items": queries.providers(request.auth), "next": None}


@router.get("/{key}", response=Provider, summary="Show a provider")
def shown(request: Request, key: str) -> ProviderItem:
    for item in queries.providers(request.auth):
        if item.key == key:
            return item
    raise errors.NotFound
