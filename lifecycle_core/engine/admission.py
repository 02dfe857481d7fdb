"""The checks before any effect (reference: seed-contracts 4).

Nothing has happened before they have passed: no session, no lease, no row and no byte on a wire.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lifecycle_core.contract import digests, errors, identities
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem, Refused
from lifecycle_core.contract.invocation import COMPLETION, Dispatch
from lifecycle_core.contract.ports import ToolSpec
from lifecycle_core.engine import composing, result_schema, telling

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
    return driver["providerIdentity"] != composing.DSH or (isinstance(route, str) and route != "")


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


def check(dispatch: Dispatch) -> None:
    """Refuse a dispatch that does not hold together, with the call error of the first of the fourteen checks that fails."""
    for holds, refusal in CHECKS:
        if not holds(dispatch):
            raise refusal


def check_values(dispatch: Dispatch) -> None:
    """Refuse an input or a result schema that does not fit, and a session that is bound to something else than it says.

    Raises `errors.SchemaInvalid`, also for an input without the value that the session is bound to, and
    `errors.SessionAffinityMismatch`.
    """
    forms = _prefixed("/resultSchema", result_schema.check_form(dispatch.action.result_schema))
    problems = [*forms, *result_schema.validate(dispatch.action.input_schema, dispatch.input)]
    problems = problems or _unbound(dispatch)
    if problems:
        raise errors.SchemaInvalid(problems=problems)
    scope = composing.scope_value(dispatch.executor.session, dispatch.input, dispatch.episode)
    isolation = _part(dispatch, "policy")["isolation"]
    if (scope, isolation) != (dispatch.session.scope_value, dispatch.session.isolation):
        raise errors.SessionAffinityMismatch


def check_can_be_told(dispatch: Dispatch, value_bytes: int) -> None:
    """Refuse an input that no message could tell, with its purpose before it. Raises `errors.ValueTooLarge`."""
    told = dispatch.action.purpose + digests.canonical(dispatch.input).decode()
    telling.check(told, value_bytes)


def _unbound(dispatch: Dispatch) -> list[Problem]:
    """Return what is missing for a session that is bound to data: without it, strangers to each other would share one."""
    scope = _part(dispatch, "policy")["scope"]
    if scope["kind"] != "data-bound":
        return []
    return result_schema.validate({"type": "object", "required": [scope["source"]]}, dispatch.input)


def check_registered(dispatch: Dispatch, agent: AgentDefinition, tools: Sequence[ToolSpec]) -> None:
    """Refuse a dispatch that is not what its version of the agent composes, whoever brought it.

    Of the access rules it may leave some out. Raises `errors.ModelBindingMismatch` for another model, provider or route,
    `errors.ExecutorBindingMismatch` for any other part or action, and `errors.CapabilityMismatch` for more access.
    """
    given, registered = dispatch.executor.session, composing.session_part(agent, tools)
    if any(not digests.same(given[part], registered[part]) for part in ("model", "driver")):
        raise errors.ModelBindingMismatch
    action = dispatch.action.identity.removeprefix("action.")
    if (
        not digests.same(dict(given), registered)
        or dispatch.executor.identity != f"executor.{agent.name}"
        or action not in agent.actions
        or not digests.same(dispatch.action.as_json(), composing.action_of(agent, action).as_json())
    ):
        raise errors.ExecutorBindingMismatch
    allowed = composing.rules(agent)
    if any(rule not in allowed for rule in _access(dispatch)):
        raise errors.CapabilityMismatch
    if dispatch.workspace.kind != "none" and dispatch.workspace.name != agent.workspace:
        raise errors.CapabilityMismatch


def _prefixed(prefix: str, problems: list[Problem]) -> list[Problem]:
    return [Problem(prefix + problem.pointer, problem.detail) for problem in problems]
