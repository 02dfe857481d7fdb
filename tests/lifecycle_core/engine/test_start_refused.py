"""Families 12 and 17 of the contract, and what is checked after the fourteen: each is reached alone and says its own code.

A refused start has left nothing behind: the agent's provider counts what is opened, the world its leases, and the journal its
rows.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

import pytest

from lifecycle_core.application import agents, hosting, invocations, queries
from lifecycle_core.contract import errors, identities, ports
from lifecycle_core.contract.errors import Refused
from lifecycle_core.contract.invocation import Dispatch
from lifecycle_core.engine import composing
from lifecycle_core.journal import models
from tests.lifecycle_core.contract import golden
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.test_admission import CASES, OTHER, bound_affinity, failing, new, rebound
from tests.lifecycle_core.engine.world import NativeProvider, World, emitting

pytestmark = pytest.mark.django_db

ROWS: Final = (models.Delivery, models.Invocation, models.Session, models.Event)
ACCESS: Final[list[Any]] = [{"mode": "read", "path": "**"}, {"mode": "write", "path": "notes/**"}]
KEEPER: Final = {
    "workspace": '"desk"',
    "access": '[{ mode = "read", path = "**" }, { mode = "write", path = "notes/**" }]',
    "session": '{ scope = "data-bound", source = "customer", isolation = "shared" }',
}
INPUT: Final[dict[str, Any]] = {"customer": 7, "script": 1}


@pytest.fixture
def provider(world: World) -> NativeProvider:
    """Register an agent with a workspace and bound sessions, and another one that has a workspace of its own."""
    world.workspaces.add("shelf")
    world.apply("keeper", **KEEPER)
    world.apply("other", **KEEPER | {"workspace": '"shelf"'})
    counting = NativeProvider([emitting(ports.StructuredCompletion(result={"ok": True}))])
    world.providers["chat-completions"] = counting
    return counting


def compose(agent: str = "keeper") -> Dispatch:
    return invocations.compose(w.ANN, agent=agent, action=w.ACTION, input=INPUT, delivery="d1")


def start(dispatch: Dispatch) -> Any:
    return invocations.start_dispatch(w.ANN, dispatch=dispatch.as_json())


# Ways to break a dispatch that compute every digest anew, and seal the workspace where that is not what is wrong.


def bound(d: Dispatch) -> Dispatch:
    scope = composing.scope_value(d.executor.session, d.input, d.episode)
    return rebound(dataclasses.replace(d, session=dataclasses.replace(d.session, scope_value=scope)))


def sealed(world: World, d: Dispatch, **parts: Any) -> Dispatch:
    """Seal a capability as this console would, for parts that it would not give."""
    handle = {**(d.workspace.handle or {}), **parts}
    del handle["capability"]
    bare = dataclasses.replace(d.workspace, handle=handle)
    return dataclasses.replace(d, workspace=world.services.workspaces.seal(w.TENANT, bare))


def of_session(**parts: Any) -> Callable[[World, Dispatch], Dispatch]:
    """Return what changes members of parts of the session."""

    def change(world: World, d: Dispatch) -> Dispatch:
        given: dict[str, Any] = dict(d.executor.session)
        for name, value in parts.items():
            given[name] = {**given[name], **value} if isinstance(value, dict) else value
        return bound(dataclasses.replace(d, executor=dataclasses.replace(d.executor, session=given)))

    return change


def of_action(**parts: Any) -> Callable[[World, Dispatch], Dispatch]:
    def change(world: World, d: Dispatch) -> Dispatch:
        action = dataclasses.replace(d.action, **parts)
        plan = dataclasses.replace(d.plan, action=action.identity)
        return bound(dataclasses.replace(d, action=action, plan=plan))

    return change


def of_input(value: Any) -> Callable[[World, Dispatch], Dispatch]:
    return lambda world, d: bound(dataclasses.replace(d, input=value))


def of_affinity(**parts: Any) -> Callable[[World, Dispatch], Dispatch]:
    return lambda world, d: bound_affinity(
        dataclasses.replace(d, session=dataclasses.replace(d.session, **parts))
    )


def no_seal(world: World, d: Dispatch) -> Dispatch:
    handle = {name: value for name, value in (d.workspace.handle or {}).items() if name != "capability"}
    return dataclasses.replace(d, workspace=dataclasses.replace(d.workspace, handle=handle))


def a_seal_of_another_episode(world: World, d: Dispatch) -> Dispatch:
    seal = (compose().workspace.handle or {})["capability"]
    handle = {**(d.workspace.handle or {}), "capability": seal}
    return dataclasses.replace(d, workspace=dataclasses.replace(d.workspace, handle=handle))


def no_such_workspace_any_more(world: World, d: Dispatch) -> Dispatch:
    world.workspaces.remove("desk")
    return d


def more_access(world: World, d: Dispatch) -> Dispatch:
    rules = [*ACCESS, {"mode": "write", "path": "**"}]
    executor = dataclasses.replace(d.executor, turn={"access": rules})
    given = bound(dataclasses.replace(d, executor=executor))
    return sealed(world, given, accessDigest=identities.access_digest(rules))


def the_workspace_of_another_agent(world: World, d: Dispatch) -> Dispatch:
    return sealed(world, d, savepoint="shelf")


def another_executor(world: World, d: Dispatch) -> Dispatch:
    executor = dataclasses.replace(d.executor, identity="executor.other")
    return dataclasses.replace(
        d, executor=executor, plan=dataclasses.replace(d.plan, executor=executor.identity)
    )


def no_provider(world: World, d: Dispatch) -> Dispatch:
    del world.providers["chat-completions"]
    return d


CONFIGURATION: Final = {"credentialRef": "refs/model", "baseURL": "http://127.0.0.1:1/v1"}
SCOPE: Final = {"scope": {"kind": "data-bound", "source": "script"}}

type Break = Callable[[World, Dispatch], Dispatch]
LATER: Final[dict[str, tuple[Break, type[Refused]]]] = {
    "no seal": (no_seal, errors.CapabilityMismatch),
    "a seal of another episode": (a_seal_of_another_episode, errors.CapabilityMismatch),
    "a workspace that is gone": (no_such_workspace_any_more, errors.CapabilityMismatch),
    "an input that does not fit": (of_input(["?"]), errors.SchemaInvalid),
    "a result schema that is none": (of_action(result_schema={"type": "planet"}), errors.SchemaInvalid),
    "a session of other data": (of_affinity(scope_value=OTHER), errors.SessionAffinityMismatch),
    "a session of another isolation": (of_affinity(isolation="isolated"), errors.SessionAffinityMismatch),
    "a version that is not registered": (
        of_session(agent={"contentIdentity": OTHER}),
        errors.ExecutorBindingMismatch,
    ),
    "an agent that is not registered": (
        of_session(agent={"resourceIdentity": "agent.nobody"}),
        errors.ExecutorBindingMismatch,
    ),
    "another model": (of_session(model={"providerModelIdentity": "n"}), errors.ModelBindingMismatch),
    "a model configured otherwise": (
        of_session(model={"configuration": {"t": 1}}),
        errors.ModelBindingMismatch,
    ),
    "another provider": (
        of_session(driver={"providerIdentity": "remote-agent"}),
        errors.ModelBindingMismatch,
    ),
    "another place to send to": (
        of_session(driver={"configuration": {**CONFIGURATION, "baseURL": "http://127.0.0.1:2"}}),
        errors.ModelBindingMismatch,
    ),
    "another credential": (
        of_session(driver={"configuration": {**CONFIGURATION, "credentialRef": "refs/other"}}),
        errors.ModelBindingMismatch,
    ),
    "other instructions": (
        of_session(instructions={"contentIdentity": OTHER}),
        errors.ExecutorBindingMismatch,
    ),
    "instructions from a file": (
        of_session(instructions={"localReadOnlyPath": "/etc/hosts"}),
        errors.ExecutorBindingMismatch,
    ),
    "other tools": (of_session(tools=[]), errors.ExecutorBindingMismatch),
    "fewer capabilities": (
        of_session(providedCapabilities=["structured-completion"]),
        errors.ExecutorBindingMismatch,
    ),
    "another scope": (of_session(policy=SCOPE), errors.ExecutorBindingMismatch),
    "another role": (of_session(roleIdentity="role.admin"), errors.ExecutorBindingMismatch),
    "another executor": (another_executor, errors.ExecutorBindingMismatch),
    "another action": (of_action(identity="action.other"), errors.ExecutorBindingMismatch),
    "another purpose": (of_action(purpose="Rule the world."), errors.ExecutorBindingMismatch),
    "another result": (of_action(result_schema={}), errors.ExecutorBindingMismatch),
    "more access": (more_access, errors.CapabilityMismatch),
    "the workspace of another agent": (the_workspace_of_another_agent, errors.CapabilityMismatch),
    "the agent's secret": (of_input({"customer": w.SECRET}), errors.SecretInArguments),
    "no provider": (no_provider, errors.ProviderNotImplemented),
}


# 12


@CASES
def test_fourteen_broken_dispatches_open_nothing(
    world: World,
    provider: NativeProvider,
    number: int,
    break_it: Callable[[Dispatch], Dispatch],
    refusal: type[Refused],
) -> None:
    with pytest.raises(Refused) as refused:
        hosting.host().check(new(break_it(golden.dispatch())))
    assert type(refused.value) is refusal
    assert set(rows().values()) == {0}
    assert (world.leases, world.known, provider.opened) == ([], [], [])


# 17


def test_a_stale_plan_binding_is_an_executor_binding_mismatch_and_opens_nothing(
    world: World, provider: NativeProvider
) -> None:
    stale = compose().plan
    world.apply("keeper", **KEEPER | {"instructions": '"Be brief."'})
    with pytest.raises(errors.ExecutorBindingMismatch):
        start(dataclasses.replace(compose(), plan=stale))
    assert (set(rows().values()), provider.opened) == ({0}, [])


# Later.


def rows() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in ROWS}


@pytest.mark.parametrize(("break_it", "refusal"), LATER.values(), ids=LATER)
def test_each_later_check_is_reached_alone_and_leaves_nothing(
    world: World, provider: NativeProvider, break_it: Break, refusal: type[Refused]
) -> None:
    broken = break_it(world, compose())
    assert failing(broken) == [], "none of the fourteen is what refuses it"
    with pytest.raises(Refused) as refused:
        start(broken)
    assert type(refused.value) is refusal
    assert set(rows().values()) == {0}
    assert (world.leases, provider.opened) == ([], [])


def test_the_same_counters_count_a_start_that_is_admitted(world: World, provider: NativeProvider) -> None:
    item = start(compose())
    assert (rows()["Delivery"], rows()["Invocation"], rows()["Session"]) == (1, 1, 1)
    world.settle()
    assert (len(world.leases), len(provider.opened)) == (1, 1)
    assert queries.invocations(w.ANN).items[0].id == item.id


ORDER: Final = (
    "no seal",
    "an input that does not fit",
    "a session of other data",
    "another model",
    "other instructions",
    "more access",
)


@pytest.mark.parametrize(("first", "second"), [(a, b) for i, a in enumerate(ORDER) for b in ORDER[i + 1 :]])
def test_of_two_later_checks_the_earlier_one_decides(
    world: World, provider: NativeProvider, first: str, second: str
) -> None:
    broken = LATER[first][0](world, LATER[second][0](world, compose()))
    with pytest.raises(Refused) as refused:
        start(broken)
    assert type(refused.value) is LATER[first][1]


def test_what_the_journal_knows_decides_last(world: World, provider: NativeProvider) -> None:
    first = compose()
    start(first)
    before = rows()
    with pytest.raises(errors.CorrelationMismatch):
        start(first)
    elsewhere = compose("other")
    with pytest.raises(errors.DeliveryConflict):
        start(elsewhere)
    assert rows() == before


def test_a_known_session_belongs_to_its_delivery_with_all_its_bindings(
    world: World, provider: NativeProvider
) -> None:
    start(compose())
    given = compose()
    delivery = dataclasses.replace(given.episode.thread.delivery, manifest_binding=OTHER)
    thread = dataclasses.replace(given.episode.thread, delivery=delivery)
    episode = dataclasses.replace(given.episode, thread=thread)
    session = dataclasses.replace(given.session, delivery=delivery)
    elsewhere = bound(dataclasses.replace(given, episode=episode, session=session))
    with pytest.raises(errors.SessionAffinityMismatch):
        start(sealed(world, elsewhere, episode=episode.as_json()))
    assert rows()["Invocation"] == 1


def test_a_running_version_stays_startable_when_the_agent_has_another(
    world: World, provider: NativeProvider
) -> None:
    given = compose()
    world.apply("keeper", **KEEPER | {"instructions": '"Be brief."'})
    item = start(given)
    assert agents.current(w.TENANT, "keeper").instructions == "Be brief."
    world.settle()
    assert queries.invocation(w.ANN, item.id).status == "completed"
