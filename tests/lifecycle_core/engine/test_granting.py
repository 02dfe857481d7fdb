"""Where a call may act is read from the sealed dispatch, whatever the agent says, and its seal is looked at each time."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import agents, composition, invocations
from lifecycle_core.contract import digests, identities, ports
from lifecycle_core.contract.invocation import AccessRule
from lifecycle_core.engine import granting
from lifecycle_core.engine.granting import Grant
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import ANN, World, call, calls, complete

pytestmark = pytest.mark.django_db
READ: Final = AccessRule(mode="read", path="**")
WRITE: Final = AccessRule(mode="write", path="notes/**")
KEEPER: Final = {
    "workspace": '"desk"',
    "access": '[{ mode = "read", path = "**" }, { mode = "write", path = "notes/**" }]',
}


@pytest.fixture
def keeper(world: World) -> None:
    world.apply("keeper", **KEEPER)


def record(world: World, invocation: UUID, dispatch: Any = None, **changes: Any) -> ports.InvocationRecord:
    """Return an invocation as a worker finds it, or as it would be had somebody changed what is stored."""
    found = world.store.load(invocation)
    return dataclasses.replace(found, dispatch=dispatch or found.dispatch, **changes)


def copied(dispatch: Mapping[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(digests.canonical(dict(dispatch)))
    return copy


def contexts(world: World) -> list[Any]:
    """Watch which workspace and rules each call is given."""
    given: list[Any] = []
    make = world.services.context

    def watch(workspace: str, access: tuple[AccessRule, ...], *rest: Any) -> Any:
        given.append((workspace, access))
        return make(workspace, access, *rest)

    object.__setattr__(world.services, "context", watch)
    return given


def test_a_call_gets_the_workspace_and_the_rules_that_were_sealed(world: World, keeper: None) -> None:
    seen = contexts(world)
    invocation = world.run(calls(call(w.LOOK)), complete(), agent="keeper")
    assert world.status(invocation) == "completed"
    assert {*seen} == {("desk", (READ, WRITE))}


def test_a_call_gets_what_the_host_gave_and_not_what_the_agent_has(world: World, keeper: None) -> None:
    agent = agents.current(w.TENANT, "keeper")
    place = composition.new_episode(w.TENANT, agent, w.ACTION, "d1")
    rules = [READ.as_json()]
    world.scripts["narrow"] = (calls(call(w.LOOK)), complete())
    dispatch = composition.compose(w.TENANT, agent, w.ACTION, {"script": "narrow"}, place, rules)
    seen = contexts(world)
    started = invocations.start_dispatch(ANN, dispatch=dispatch.as_json())
    world.drive(UUID(started.id))
    assert {*seen} == {("desk", (READ,))}


def test_an_agent_without_a_workspace_is_given_none(world: World) -> None:
    seen = contexts(world)
    world.run(calls(call(w.LOOK)), complete())
    assert {*seen} == {("", ())}


type Tamper = Callable[[dict[str, Any]], None]


def widened(d: dict[str, Any]) -> None:
    d["executor"]["turn"]["access"] = [{"mode": "write", "path": "**"}]


def widened_with_its_digest(d: dict[str, Any]) -> None:
    widened(d)
    d["workspace"]["handle"]["accessDigest"] = identities.access_digest(d["executor"]["turn"]["access"])


def moved(d: dict[str, Any]) -> None:
    d["workspace"]["handle"]["savepoint"] = "shelf"


def of_another_episode(d: dict[str, Any]) -> None:
    d["episode"]["attemptIdentity"] = "attempt.2"


def of_another_episode_on_both_sides(d: dict[str, Any]) -> None:
    of_another_episode(d)
    d["workspace"]["handle"]["episode"]["attemptIdentity"] = "attempt.2"


def unsealed(d: dict[str, Any]) -> None:
    del d["workspace"]["handle"]["capability"]


TAMPERED: Final = [
    widened,
    widened_with_its_digest,
    moved,
    of_another_episode,
    of_another_episode_on_both_sides,
    unsealed,
]


@pytest.mark.parametrize("tamper", TAMPERED)
def test_what_was_changed_after_its_admission_gives_nothing(
    world: World, keeper: None, tamper: Tamper
) -> None:
    world.workspaces.add("shelf")
    invocation = world.start(complete(), agent="keeper")
    stored = copied(world.store.load(invocation).dispatch)
    workspaces = world.services.workspaces
    whole = granting.grant(workspaces, record(world, invocation, stored))
    assert whole == Grant(workspace="desk", access=(READ, WRITE))
    tamper(stored)
    with pytest.raises(ports.ToolError) as refused:
        granting.grant(workspaces, record(world, invocation, stored))
    assert refused.value.code == "CAPABILITY_MISMATCH"


def test_a_run_of_another_tenant_is_given_nothing(world: World, keeper: None) -> None:
    invocation = world.start(complete(), agent="keeper")
    with pytest.raises(ports.ToolError):
        granting.grant(world.services.workspaces, record(world, invocation, tenant="elsewhere"))


def test_a_workspace_that_is_taken_away_in_the_middle_of_a_turn_is_closed_to_the_next_call(
    world: World, keeper: None
) -> None:
    def take_away(arguments: Any, context: Any) -> str:
        world.workspaces.remove("desk")
        return "looked"

    world.tools[w.LOOK].act = take_away
    invocation = world.run(
        calls(call(w.LOOK, "c1")), calls(call(w.COUNT, "c2"), call(w.SEND, "c3")), complete(), agent="keeper"
    )
    results = world.results(invocation)
    assert results["c1"] == ("executed", "looked")
    assert (results["c2"][0], results["c3"][0]) == ("refused", "refused")
    assert "CAPABILITY_MISMATCH" in str(results["c2"])
    assert (world.tools[w.COUNT].ran, world.tools[w.SEND].ran, world.approvals(invocation)) == ([], [], [])


def test_a_workspace_that_is_taken_away_while_people_decide_lets_the_decided_call_do_nothing(
    world: World, keeper: None
) -> None:
    invocation = world.run(calls(call(w.SEND, "c1")), complete(), agent="keeper")
    world.decide(world.approval(invocation))
    world.workspaces.remove("desk")
    world.settle()
    assert world.results(invocation)["c1"][0] == "refused"
    assert world.tools[w.SEND].ran == []
