"""Agents: list, show."""

from ninja import Router, Schema

from console.api.authentication import Request
from console.api.shapes import Json, Page
from lifecycle_core.application import queries
from lifecycle_core.application.resources import AgentItem

router = Router(tags=["agents"])


class Action(Schema):
    name: str
    purpose: str
    input_schema: Json
    result_schema: Json


class Agent(Schema):
    name: str
    binding: str
    provider: str
    model: str
    base_url: str
    credential: str
    instructions: str
    capabilities: list[str]
    tools: list[str]
    workspace: str
    access: list[dict[str, str]]
    limits: dict[str, int]
    actions: list[Action]
    startable: bool


@router.get("", response=Page[Agent], summary="List the agents")
def listed(request: Request) -> dict[str, object]:
    return {"items": queries.agents(request.auth), "next": None}


@router.get("/{name}", response=Agent, summary="Show an agent")
def shown(request: Request, name: str) -> AgentItem:
    return queries.agent(request.auth, name)
