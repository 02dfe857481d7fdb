"""A version of an agent that was withdrawn starts nothing any more, whoever asks; what runs goes on, and it can come back."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from lifecycle_core.access.models import AgentWithdrawal
from lifecycle_core.application import (
    agents,
    cancellations,
    invocations,
    permissions,
    queries,
    retries,
    versions,
    workspaces,
)
from lifecycle_core.contract import errors
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import ANN, World, ask, calls, complete
from tests.lifecycle_core.journal import racing

pytestmark = pytest.mark.django_db

ADMIN: Final = w.actor("admin", name="user:adam")


def composed() -> Any:
    return invocations.compose(ANN, agent="worker", action=w.ACTION, input={}).as_json()


def replace(world: World) -> str:
    """Replace the version of the worker, and return the old one's binding."""
    old = queries.agent(ANN, "worker").binding
    world.apply("worker", instructions='"Be brief."')
    return old


def test_a_replaced_version_starts_by_its_binding_until_it_is_withdrawn(world: World) -> None:
    first, second = composed(), composed()
    old = replace(world)
    invocations.start_dispatch(ANN, dispatch=first)
    shown = versions.withdraw(ADMIN, "worker", binding=old, reason="It leaks.")
    assert (shown.binding, shown.state, shown.current, shown.running) == (old, "withdrawn", False, 1)
    with pytest.raises(errors.AgentWithdrawn):
        invocations.start_dispatch(ANN, dispatch=second)
    assert len(queries.invocations(ANN).items) == 1
    world.run(complete())


def start(world: World) -> None:
    world.start(complete())


def compose(world: World) -> None:
    composed()


def grant(world: World) -> None:
    workspaces.grant(ANN, "desk", agent="worker", episode={})


@pytest.mark.parametrize("use", [start, compose, grant])
def test_a_withdrawn_current_version_makes_the_agent_not_startable(
    world: World, use: Callable[[World], None]
) -> None:
    assert queries.agent(ANN, "worker").startable
    versions.withdraw(ADMIN, "worker")
    for item in (queries.agent(ANN, "worker"), *queries.agents(ANN)):
        assert (item.startable, item.withdrawn) == (False, True)
    with pytest.raises(errors.AgentWithdrawn):
        use(world)
    assert list(queries.invocations(ANN).items) == []


def test_what_runs_goes_on_to_its_end_and_is_not_tried_again(world: World) -> None:
    running, failed = world.run(calls(ask()), complete()), world.start(complete())
    cancellations.cancel(ANN, failed)
    assert retries.outlook(ANN, world.item(failed)).allowed
    versions.withdraw(ADMIN, "worker")
    outlook = retries.outlook(ANN, world.item(failed))
    assert (outlook.allowed, outlook.withdrawn) == (False, True)
    with pytest.raises(errors.AgentWithdrawn):
        retries.retry(ANN, failed)
    world.answer(world.input(running), "blue")
    world.settle()
    assert world.status(running) == "completed"
    agents.apply(ADMIN, w.toml("worker"))
    assert retries.retry(ANN, failed).attempt == 2


def test_a_version_that_was_withdrawn_between_check_and_admission_starts_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was composed in time comes too late."""
    as_new = invocations.as_new

    def late(*given: Any, **named: Any) -> Any:
        versions.withdraw(ADMIN, "worker")
        return as_new(*given, **named)

    monkeypatch.setattr(invocations, "as_new", late)
    with pytest.raises(errors.AgentWithdrawn):
        world.start(complete())
    assert list(queries.invocations(ANN).items) == []


def test_a_start_that_was_answered_before_has_its_answer_still(world: World) -> None:
    dispatch = composed()
    first = invocations.start_dispatch(ANN, dispatch=dispatch, key="k")
    versions.withdraw(ADMIN, "worker")
    assert invocations.start_dispatch(ANN, dispatch=dispatch, key="k").id == first.id


def test_the_very_same_definition_brings_it_back_and_another_does_not(world: World) -> None:
    old = versions.withdraw(ADMIN, "worker", reason="Wrong prices.").binding
    world.apply("worker", instructions='"Be brief."')
    assert [(item.binding == old, item.state) for item in queries.agent_versions(ANN, "worker")] == [
        (False, "current"),
        (True, "withdrawn"),
    ]
    world.start(complete())
    agents.apply(ADMIN, w.toml("worker"))
    back = queries.agent_version(ANN, "worker")
    assert (back.binding, back.state) == (old, "current")
    assert queries.agent(ANN, "worker").startable
    world.start(complete())
    [past] = back.withdrawals
    assert (past.by, past.reason, past.ended_by) == ("user:adam", "Wrong prices.", "user:adam")
    assert past.ended_at is not None
    assert past.at <= past.ended_at
    again = versions.withdraw(ANN, "worker")
    assert [each.by for each in again.withdrawals] == ["user:adam", "user:ann"]


def test_who_comes_second_finds_it_withdrawn_and_changes_nothing(world: World) -> None:
    first = versions.withdraw(ADMIN, "worker", reason="first")
    assert versions.withdraw(ANN, "worker", reason="second") == first
    assert versions.withdraw(ANN, "worker", reason="third", key="k") == first
    assert versions.withdraw(ANN, "worker", reason="third", key="k") == first
    with pytest.raises(errors.KeyReused):
        versions.withdraw(ANN, "worker", reason="fourth", key="k")


def test_only_this_agent_of_this_tenant_is_withdrawn(world: World) -> None:
    world.apply("other")
    versions.withdraw(ADMIN, "worker")
    assert queries.agent(ANN, "other").startable
    world.start(complete(), agent="other")


@pytest.mark.parametrize(("name", "binding"), [("nobody", None), ("worker", "sha256:" + "0" * 64)])
def test_what_is_not_there_is_not_withdrawn(world: World, name: str, binding: str | None) -> None:
    for actor, given in ((ADMIN, name), (permissions.command_line("elsewhere"), "worker")):
        with pytest.raises(errors.NotFound):
            versions.withdraw(actor, given, binding=binding)
    with pytest.raises(errors.NotFound):
        queries.agent_version(ANN, name, binding)
    assert not AgentWithdrawal.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "operator", "coordinator", "host", "auditor"])
def test_only_an_administrator_withdraws(world: World, role: str) -> None:
    with pytest.raises(errors.Forbidden):
        versions.withdraw(w.actor(role), "worker")
    assert queries.agent(ANN, "worker").startable


@pytest.mark.parametrize("reason", ["a\0b", "x" * 4001])
def test_a_reason_that_cannot_be_kept_is_pointed_at(world: World, reason: str) -> None:
    with pytest.raises(errors.SchemaInvalid) as refused:
        versions.withdraw(ADMIN, "worker", reason=reason)
    assert [problem.pointer for problem in refused.value.problems] == ["/reason"]


def test_a_secret_in_a_reason_is_not_kept(world: World) -> None:
    [kept] = versions.withdraw(ADMIN, "worker", reason=f"It showed {w.SECRET} to all.").withdrawals
    assert w.SECRET not in kept.reason
    assert kept.reason.startswith("It showed ")


def test_each_version_counts_what_runs_with_it_as_far_as_one_may_see_it(world: World) -> None:
    world.run(calls(ask()))
    world.run(complete())
    replace(world)
    world.run(calls(ask()), by=w.HOST)
    world.run(calls(ask()))
    assert [item.running for item in queries.agent_versions(ANN, "worker")] == [2, 1]
    assert [item.running for item in queries.agent_versions(w.HOST, "worker")] == [1, 0]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_withdraw_at_once_one_is_kept_and_both_see_it(world: World) -> None:
    results = racing.together(*[lambda: versions.withdraw(ADMIN, "worker")] * 2)
    assert [getattr(result, "state", result) for result in results] == ["withdrawn"] * 2
    assert AgentWithdrawal.objects.count() == 1


def test_a_retry_of_what_may_not_be_tried_again_says_that_first(world: World) -> None:
    done = world.run(complete())
    versions.withdraw(ADMIN, "worker")
    with pytest.raises(errors.RetryRefused):
        retries.retry(ANN, done)
