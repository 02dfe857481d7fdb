"""Agents: list, show, and withdraw a version."""

from typing import Final, Literal

from ninja import Router, Schema

from console.api import wire
from console.api.authentication import Request
from console.api.shapes import Instant, Json, Page
from lifecycle_core.application import queries, versions
from lifecycle_core.application.resources import AgentItem, VersionItem

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
    withdrawn: bool


class Withdrawal(Schema):
    by: str
    at: Instant
    reason: str
    ended_by: str | None
    ended_at: Instant | None


class Version(Schema):
    """A version; `running` counts the invocations that have not ended, the last of `withdrawals` may last."""

    agent: str
    binding: str
    state: Literal["current", "replaced", "withdrawn"]
    current: bool
    registered_at: Instant
    running: int
    withdrawals: list[Withdrawal]


class Withdraw(wire.Body):
    """Which version shall start nothing any more (the current one where none is named), and why."""

    binding: wire.Digest | None = None
    reason: wire.Prose = ""


CURRENT: Final = Withdraw()


@router.get("", response=Page[Agent], summary="List the agents")
def listed(request: Request) -> dict[str, object]:
    return {"items": queries.agents(request.auth), "next": None}


@router.get("/{name}", response=Agent, summary="Show an agent")
def shown(request: Request, name: str) -> AgentItem:
    return queries.agent(request.auth, name)


@router.get(
    "/{name}/versions", response=Page[Version], summary="List the versions of an agent, the newest first"
)
def listed_versions(request: Request, name: str) -> dict[str, object]:
    return {"items": queries.agent_versions(request.auth, name), "next": None}


@router.post(
    "/{name}/withdraw",
    response=Version,
    summary="Let a version of an agent start nothing any more; what runs keeps it",
)
def withdraw(request: Request, name: str, body: Withdraw = CURRENT, key: wire.Key = None) -> VersionItem:
    return versions.withdraw(request.auth, name, binding=body.binding, reason=body.reason, key=key)
