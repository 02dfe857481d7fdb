"""Compose dispatches of registered agents with what this console has: its tools, its workspaces, its keys."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lifecycle_core.application import bootstrap
from lifecycle_core.contract import digests
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.identities import DeliveryRef, EpisodeRef
from lifecycle_core.contract.invocation import Dispatch, WorkspaceCapability
from lifecycle_core.engine import composing

MOST_ATTEMPTS: Final = 100


@dataclass(frozen=True, kw_only=True)
class Names:
    """Who a dispatch says shall do what, and by which model."""

    agent: str
    binding: str
    action: str
    provider: str
    model: str


def names(dispatch: Dispatch) -> Names:
    """Return what a dispatch names; whether that is registered is a matter of admission."""
    session: Mapping[str, Any] = dispatch.executor.session
    return Names(
        agent=session["agent"]["resourceIdentity"].removeprefix("agent."),
        binding=session["agent"]["contentIdentity"],
        action=dispatch.action.identity.removeprefix("action."),
        provider=session["driver"]["providerIdentity"],
        model=session["model"]["providerModelIdentity"],
    )


def new_episode(tenant: str, agent: AgentDefinition, action: str, delivery: str) -> EpisodeRef:
    """Return the first attempt at an action, in a thread of its own of a delivery."""
    reference = DeliveryRef(
        identity=delivery,
        manifest_binding=digests.digest({"agent": agent.name, "binding": agent.binding}),
        activation_binding=digests.digest({"tenant": tenant, "workspace": agent.workspace}),
    )
    return composing.first_episode(reference, f"thread-{uuid.uuid4()}", action)


def attempt_of(episode: EpisodeRef) -> int:
    """Return the number that an attempt's identity stands for where a host made it as we do; 1 for one named in its own way."""
    numbered = ((n, composing.following_episode(episode, n).attempt) for n in range(1, MOST_ATTEMPTS + 1))
    return next((n for n, identity in numbered if identity == episode.attempt), 1)


def compose(
    tenant: str,
    agent: AgentDefinition,
    action: str,
    value: Json,
    episode: EpisodeRef,
    access: Sequence[Json] | None = None,
) -> Dispatch:
    """Return a complete dispatch under some of the agent's rules, all of them where none are given.

    Raises `errors.ConfigurationInvalid` for a workspace that is not registered.
    """
    services = bootstrap.services()
    return composing.compose(
        agent,
        action,
        value,
        tenant=tenant,
        episode=episode,
        tools=[tool.spec for tool in services.tools(agent).values()],
        workspaces=services.workspaces,
        access=access,
    )


def workspace(tenant: str, agent: AgentDefinition, access: Json, episode: EpisodeRef) -> WorkspaceCapability:
    """Return a capability for an agent's workspace under some rules, for one episode."""
    workspaces = bootstrap.services().workspaces
    return composing.workspace(agent, access, tenant=tenant, episode=episode, workspaces=workspaces)
