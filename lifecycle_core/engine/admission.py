"""Compose a dispatch, and the checks before any effect (reference: seed-contracts 4)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lifecycle_core.contract import digests, errors, identities
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem, Refused
from lifecycle_core.contract.identities import (
    DeliveryRef,
    EpisodeRef,
    SessionAffinityRef,
    SiteRef,
    ThreadRef,
)
from lifecycle_core.contract.invocation import (
    COMPLETION,
    Action,
    Dispatch,
    Executor,
    Plan,
    WorkspaceCapability,
)
from lifecycle_core.contract.ports import Provider
from lifecycle_core.engine import result_schema

DSH: Final = "dsh-headless"
# The route by which the harness reaches a model of its own kind of server (reference: seed-contracts 3.2).
DSH_ROUTE: Final = "deepseek-official"


def compose(
    agent: AgentDefinition, action: str, value: Json, *, delivery: DeliveryRef, thread: str, attempt: int
) -> Dispatch:
    """Return the complete dispatch of one action of a registered agent, with every digest computed."""
    defined = agent.actions[action]
    site = SiteRef(node=action)
    thread_ref = ThreadRef(delivery=delivery, identity=thread)
    episode = EpisodeRef(
        thread=thread_ref,
        site=site,
        invocation=identities.host_identity("invocation", thread_ref, site, 1),
        attempt=identities.host_identity("attempt", thread_ref, site, attempt),
    )
    admitted = Action(
        identity=f"action.{action}",
        purpose=defined.purpose,
        input_schema=defined.input_schema,
        result_schema=defined.result_schema,
    )
    executor = _executor(agent)
    return Dispatch(
        episode=episode,
        plan=Plan(
            action=admitted.identity,
            executor=executor.identity,
            binding=identities.plan_binding(site.as_json(), admitted.as_json(), executor.binding),
        ),
        action=admitted,
        executor=executor,
        input=value,
        workspace=_workspace(agent, episode),
        session=_affinity(agent, value, episode, executor),
    )


def _executor(agent: AgentDefinition) -> Executor:
    session = _session_part(agent)
    turn: dict[str, Json] = {"access": [rule.as_json() for rule in agent.access]}
    return Executor(
        identity=f"executor.{agent.name}",
        binding=identities.executor_binding(session, turn),
        session_compatibility=identities.session_compatibility(session),
        session=session,
        turn=turn,
    )


def _session_part(agent: AgentDefinition) -> dict[str, Json]:
    content = digests.digest(agent.instructions)
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
        "instructions": {"resourceIdentity": f"instructions.{agent.name}", "contentIdentity": content},
        "tools": [{"configuration": {"toolName": tool}} for tool in agent.tools],
        "providedCapabilities": list(agent.capabilities),
        "policy": {"identity": f"policy.{agent.name}", "scope": scope, "isolation": agent.session.isolation},
    }


def _driver_configuration(agent: AgentDefinition) -> dict[str, Json]:
    configuration: dict[str, Json] = {"credentialRef": agent.credential, "baseURL": agent.base_url}
    if agent.provider == DSH:
        configuration["providerRoute"] = DSH_ROUTE
    return configuration


def _resource(identity: str, content: str) -> dict[str, Json]:
    return {"resourceIdentity": identity, "contentIdentity": content, "projectionIdentity": content}


def _workspace(agent: AgentDefinition, episode: EpisodeRef) -> WorkspaceCapability:
    """Return the capability for the agent's workspace: a write handle where a rule lets it write, else a read view."""
    if not agent.workspace:
        return WorkspaceCapability(kind="none")
    writes = any(rule.mode == "write" for rule in agent.access)
    access = identities.access_digest([rule.as_json() for rule in agent.access])
    name = digests.short(digests.digest([agent.workspace, episode.as_json()]))
    handle: dict[str, Json] = {"episode": episode.as_json(), "accessDigest": access}
    if writes:
        handle |= {"handleIdentity": f"handle-{name}", "savepoint": agent.workspace}
    else:
        handle |= {"viewIdentity": f"view-{name}", "source": agent.workspace}
    return WorkspaceCapability(kind="write" if writes else "read", name=agent.workspace, handle=handle)


def _affinity(
    agent: AgentDefinition, value: Json, episode: EpisodeRef, executor: Executor
) -> SessionAffinityRef:
    scope = _scope_value(agent, value, episode)
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


def _scope_value(agent: AgentDefinition, value: Json, episode: EpisodeRef) -> str:
    if agent.session.scope == "episode":
        return digests.digest(episode.as_json())
    bound = value.get(agent.session.source) if isinstance(value, dict) else None
    if agent.session.isolation == "isolated":
        # Equal data must not make two isolated episodes share a session (reference: seed-contracts 19.15).
        return digests.digest([bound, episode.as_json()])
    return digests.digest(bound)


# The checks. Each says whether the dispatch holds; the first that does not decides.

type Check = Callable[[Dispatch], bool]


def _handle(dispatch: Dispatch, key: str) -> Json:
    return None if dispatch.workspace.handle is None else dispatch.workspace.handle[key]


def _access(dispatch: Dispatch) -> list[Any]:
    access = dispatch.executor.turn["access"]
    return access if isinstance(access, list) else []


def _part(dispatch: Dispatch, name: str) -> Mapping[str, Any]:
    part = dispatch.executor.session[name]
    return part if isinstance(part, Mapping) else {}


def _names_its_executor(d: Dispatch) -> bool:
    return (d.plan.action, d.plan.executor) == (d.action.identity, d.executor.identity)


def _is_bound_to_executor(d: Dispatch) -> bool:
    return identities.executor_binding(d.executor.session, d.executor.turn) == d.executor.binding


def _is_bound_to_plan(d: Dispatch) -> bool:
    site = d.episode.site.as_json()
    return identities.plan_binding(site, d.action.as_json(), d.executor.binding) == d.plan.binding


def _is_its_affinity(d: Dispatch) -> bool:
    s = d.session
    return s.identity == identities.affinity_identity(
        s.delivery.identity, s.session_compatibility, s.scope_value, s.isolation
    )


def _is_own_workspace(d: Dispatch) -> bool:
    return d.workspace.kind == "none" or digests.same(_handle(d, "episode"), d.episode.as_json())


def _is_own_access(d: Dispatch) -> bool:
    access = identities.access_digest(d.executor.turn["access"])
    return d.workspace.kind == "none" or _handle(d, "accessDigest") == access


def _has_route(d: Dispatch) -> bool:
    driver = _part(d, "driver")
    route = driver["configuration"].get("providerRoute")
    return driver["providerIdentity"] != DSH or (isinstance(route, str) and route != "")


CHECKS: Final[tuple[tuple[Check, type[Refused]], ...]] = (
    (_names_its_executor, errors.ExecutorBindingMismatch),
    (
        lambda d: identities.session_compatibility(d.executor.session) == d.executor.session_compatibility,
        errors.SessionAffinityMismatch,
    ),
    (_is_bound_to_executor, errors.ExecutorBindingMismatch),
    (_is_bound_to_plan, errors.ExecutorBindingMismatch),
    (
        lambda d: d.session.session_compatibility == d.executor.session_compatibility,
        errors.SessionAffinityMismatch,
    ),
    (_is_its_affinity, errors.SessionAffinityMismatch),
    (lambda d: d.session.delivery == d.episode.thread.delivery, errors.CorrelationMismatch),
    (_is_own_workspace, errors.CapabilityMismatch),
    (_is_own_access, errors.CapabilityMismatch),
    (lambda d: d.workspace.kind != "none" or not _access(d), errors.CapabilityMismatch),
    (
        lambda d: d.workspace.kind != "read" or all(rule["mode"] != "write" for rule in _access(d)),
        errors.CapabilityMismatch,
    ),
    (lambda d: COMPLETION in d.executor.session["providedCapabilities"], errors.CapabilityMismatch),  # type: ignore[operator]
    (lambda d: bool(_part(d, "model")["providerModelIdentity"]), errors.ModelBindingMismatch),
    (_has_route, errors.ModelBindingMismatch),
)


def check(dispatch: Dispatch, provider: Callable[[str], Provider]) -> None:
    """Refuse a dispatch that does not hold together, before anything has happened.

    Raises the call error of the first of the fourteen checks that fails, `errors.SchemaInvalid` for an input or a result
    schema that does not fit, `errors.ProviderNotImplemented` for a provider that is not here.
    """
    for holds, refusal in CHECKS:
        if not holds(dispatch):
            raise refusal
    forms = _prefixed("/resultSchema", result_schema.check_form(dispatch.action.result_schema))
    problems = [*forms, *result_schema.validate(dispatch.action.input_schema, dispatch.input)]
    if problems:
        raise errors.SchemaInvalid(problems=problems)
    provider(str(_part(dispatch, "driver")["providerIdentity"]))


def _prefixed(prefix: str, problems: list[Problem]) -> list[Problem]:
    return [Problem(prefix + problem.pointer, problem.detail) for problem in problems]
