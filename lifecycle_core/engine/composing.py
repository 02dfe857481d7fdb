"""Compose the complete dispatch of a registered agent's action, with every digest (reference: seed-contracts 2 and 3.2).

What a version of an agent composes is also what a host's own dispatch of it must be: the checks of admission compare the two.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lifecycle_core.contract import digests, identities
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.identities import (
    DeliveryRef,
    EpisodeRef,
    SessionAffinityRef,
    SiteRef,
    ThreadRef,
)
from lifecycle_core.contract.invocation import (
    Action,
    Dispatch,
    Executor,
    Plan,
    WorkspaceCapability,
)
from lifecycle_core.contract.ports import ToolSpec, Workspaces

DSH: Final = "dsh-headless"
# The route by which the harness reaches a model of its own kind of server (reference: seed-contracts 3.2).
DSH_ROUTE: Final = "deepseek-official"
WORKSPACE_FAMILY: Final = "files"


def first_episode(delivery: DeliveryRef, thread: str, action: str) -> EpisodeRef:
    """Return the first attempt at an action in a thread of its own."""
    thread_ref, site = ThreadRef(delivery=delivery, identity=thread), SiteRef(node=action)
    return EpisodeRef(
        thread=thread_ref,
        site=site,
        invocation=identities.host_identity("invocation", thread_ref, site, 1),
        attempt=identities.host_identity("attempt", thread_ref, site, 1),
    )


def following_episode(episode: EpisodeRef, attempt: int) -> EpisodeRef:
    """Return the episode of a later attempt at the same invocation."""
    return EpisodeRef(
        thread=episode.thread,
        site=episode.site,
        invocation=episode.invocation,
        attempt=identities.host_identity("attempt", episode.thread, episode.site, attempt),
    )


def compose(
    agent: AgentDefinition,
    action: str,
    value: Json,
    *,
    tenant: str,
    episode: EpisodeRef,
    tools: Sequence[ToolSpec],
    workspaces: Workspaces,
    access: Sequence[Json] | None = None,
) -> Dispatch:
    """Return the complete dispatch of one action of a registered agent, its workspace capability sealed.

    `access` are some of the agent's rules, all of them where nothing is given.
    """
    admitted = action_of(agent, action)
    executor = _executor(agent, tools, rules(agent) if access is None else list(access))
    return Dispatch(
        episode=episode,
        plan=Plan(
            action=admitted.identity,
            executor=executor.identity,
            binding=identities.plan_binding(episode.site.as_json(), admitted.as_json(), executor.binding),
        ),
        action=admitted,
        executor=executor,
        input=value,
        workspace=workspace(
            agent, executor.turn["access"], tenant=tenant, episode=episode, workspaces=workspaces
        ),
        session=_affinity(agent, value, episode, executor),
    )


def action_of(agent: AgentDefinition, action: str) -> Action:
    """Return a registered action as a dispatch carries it."""
    defined = agent.actions[action]
    return Action(
        identity=f"action.{action}",
        purpose=defined.purpose,
        input_schema=defined.input_schema,
        result_schema=defined.result_schema,
    )


def rules(agent: AgentDefinition) -> list[Json]:
    """Return an agent's access rules as a dispatch carries them."""
    return [rule.as_json() for rule in agent.access]


def _executor(agent: AgentDefinition, tools: Sequence[ToolSpec], access: list[Json]) -> Executor:
    session = session_part(agent, tools)
    turn: dict[str, Json] = {"access": access}
    return Executor(
        identity=f"executor.{agent.name}",
        binding=identities.executor_binding(session, turn),
        session_compatibility=identities.session_compatibility(session),
        session=session,
        turn=turn,
    )


def session_part(agent: AgentDefinition, tools: Sequence[ToolSpec]) -> dict[str, Json]:
    """Return the part of an executor that decides which sessions it may continue."""
    scope: dict[str, Json] = {"kind": agent.session.scope}
    if agent.session.scope == "data-bound":
        scope["source"] = agent.session.source
    return {
        "roleIdentity": f"role.{agent.name}",
        "routeIdentity": f"route.{agent.provider}",
        "agent": _resource(f"agent.{agent.name}", agent.binding),
        "model": {
            **_resource(f"model.{agent.model}", digests.digest(agent.model)),
            "providerModelIdentity": agent.model,
            "configuration": {},
        },
        "driver": {
            "resourceIdentity": f"driver.{agent.provider}",
            "projectionIdentity": digests.digest([agent.provider, agent.base_url]),
            "providerIdentity": agent.provider,
            "configuration": _driver_configuration(agent),
        },
        "instructions": {
            "resourceIdentity": f"instructions.{agent.name}",
            "contentIdentity": digests.digest(agent.instructions),
        },
        "tools": [_tool(spec) for spec in tools],
        "providedCapabilities": list(agent.capabilities),
        "policy": {"identity": f"policy.{agent.name}", "scope": scope, "isolation": agent.session.isolation},
    }


def _driver_configuration(agent: AgentDefinition) -> dict[str, Json]:
    configuration: dict[str, Json] = {"credentialRef": agent.credential, "baseURL": agent.base_url}
    if agent.provider == DSH:
        configuration["providerRoute"] = DSH_ROUTE
    return configuration


def _tool(spec: ToolSpec) -> dict[str, Json]:
    content = digests.digest([spec.name, spec.schema_digest, spec.effect_class])
    configuration: dict[str, Json] = {
        "toolName": spec.name,
        "workspaceAccess": spec.family == WORKSPACE_FAMILY,
    }
    return {**_resource(f"tool.{spec.name}", content), "configuration": configuration}


def _resource(identity: str, content: str) -> dict[str, Json]:
    return {"resourceIdentity": identity, "contentIdentity": content, "projectionIdentity": content}


def workspace(
    agent: AgentDefinition, access: Json, *, tenant: str, episode: EpisodeRef, workspaces: Workspaces
) -> WorkspaceCapability:
    """Return the sealed capability for the agent's workspace: a write handle where a rule lets it write, else a read view.

    Raises `errors.ConfigurationInvalid` for a workspace that is not registered.
    """
    if not agent.workspace:
        return WorkspaceCapability(kind="none")
    writes = isinstance(access, list) and any(_mode(rule) == "write" for rule in access)
    name = digests.short(digests.digest([agent.workspace, episode.as_json()]))
    handle: dict[str, Json] = {
        "episode": episode.as_json(),
        "accessDigest": identities.access_digest(access),
        **(
            {"handleIdentity": f"handle-{name}", "savepoint": agent.workspace}
            if writes
            else {"viewIdentity": f"view-{name}", "source": agent.workspace}
        ),
    }
    return workspaces.seal(tenant, WorkspaceCapability(kind="write" if writes else "read", handle=handle))


def _mode(rule: Json) -> Json:
    return rule.get("mode") if isinstance(rule, dict) else None


def _affinity(
    agent: AgentDefinition, value: Json, episode: EpisodeRef, executor: Executor
) -> SessionAffinityRef:
    scope = scope_value(executor.session, value, episode)
    delivery = episode.thread.delivery
    return SessionAffinityRef(
        identity=identities.affinity_identity(
            delivery.identity, executor.session_compatibility, scope, agent.session.isolation
        ),
        delivery=delivery,
        session_compatibility=executor.session_compatibility,
        scope_value=scope,
        isolation=agent.session.isolation,
    )


def scope_value(session: Mapping[str, Any], value: Json, episode: EpisodeRef) -> str:
    """Return what an executor's session policy binds a session to: the episode, or a value of the input."""
    policy = session["policy"]
    if policy["scope"]["kind"] == "episode":
        return digests.digest(episode.as_json())
    bound = value.get(policy["scope"]["source"]) if isinstance(value, dict) else None
    if policy["isolation"] == "isolated":
        # Equal data must not make two isolated episodes share a session (reference: seed-contracts 19.15).
        return digests.digest([bound, episode.as_json()])
    return digests.digest(bound)
