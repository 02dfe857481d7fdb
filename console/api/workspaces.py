"""Workspaces: give a host's own episode the right to one."""

from typing import Any, Literal

from ninja import Router

from console.api import wire
from console.api.authentication import Request
from lifecycle_core.application import workspaces

router = Router(tags=["workspaces"])


class Rule(wire.Body):
    mode: Literal["read", "write"]
    path: wire.Word


class Grant(wire.Body):
    """For which episode of which agent; `access` are some of the agent's rules, all of them where it is not given."""

    agent: wire.Word
    episode: dict[str, Any]
    access: list[Rule] | None = None


@router.post(
    "/{workspace}/capabilities", response=dict[str, Any], summary="Give an episode the right to a workspace"
)
def grant(request: Request, workspace: str, body: Grant) -> Any:
    access = None if body.access is None else [rule.model_dump() for rule in body.access]
    capability = workspaces.grant(
        request.auth, workspace, agent=body.agent, episode=body.episode, access=access
    )
    return capability.as_json()
