"""Tools: list, show."""

from ninja import Router, Schema

from console.api.authentication import Request
from console.api.shapes import Json, Page
from lifecycle_core.application import queries
from lifecycle_core.application.resources import ToolItem
from lifecycle_core.contract import errors

router = Router(tags=["tools"])


class Tool(Schema):
    name: str
    family: str
    description: str
    effect_class: str
    input_schema: Json
    schema_digest: str


@router.get("", response=Page[Tool], summary="List the tools")
def listed(request: Request) -> dict[str, object]:
    return {"items": queries.tools(request.auth), "next": None}


@router.get("/{name}", response=Tool, summary="Show a tool")
def shown(request: Request, name: str) -> ToolItem:
    for item in queries.tools(request.auth):
        if item.name == name:
            return item
    raise errors.NotFound
