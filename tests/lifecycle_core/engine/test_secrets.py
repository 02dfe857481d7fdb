"""An agent's secret is kept out of whatever is noted, said or logged, also where the agent may not use it."""

import logging
from typing import Any
from uuid import UUID

import pytest

from console import logs
from lifecycle_core.application import cancellations, deliveries, invocations, queries
from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import ToolContext
from lifecycle_core.engine import leases
from lifecycle_core.testing.answers import Answer
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import ANN, SECRET, World, call, calls, complete

pytestmark = pytest.mark.django_db


def seen(world: World, invocation: Any) -> str:
    """Return all that is told of an invocation."""
    return repr([world.item(invocation), world.events(invocation), world.approvals(invocation, state=None)])


def test_what_a_tool_says_of_an_edit_is_told_without_the_secret(world: World) -> None:
    waiting = world.run(calls(call(w.SEND, to="ann")), complete())

    def complain(arguments: dict[str, Json]) -> None:
        raise ports.ToolError("TAKEN", f"the file says {SECRET}")

    world.tools[w.SEND].check = complain
    with pytest.raises(errors.SchemaInvalid) as refusal:
        world.decide(world.approval(waiting), "edit", arguments={"to": "bob"})
    assert [problem.detail for problem in refusal.value.problems] == ["TAKEN: the file says [REDACTED]"]


def test_an_edit_that_fits_nowhere_and_holds_the_secret_is_told_nothing_but_that(world: World) -> None:
    waiting = world.run(calls(call(w.SEND, to="ann")), complete())
    with pytest.raises(errors.SecretInArguments):
        world.decide(world.approval(waiting), "edit", arguments={SECRET: 1})


@pytest.mark.parametrize("given", [{"input": {"note": SECRET}}, {"context": [SECRET]}, {"delivery": SECRET}])
def test_nothing_starts_with_the_secret_of_its_own_agent(world: World, given: dict[str, Any]) -> None:
    world.scripts["none"] = ()
    asked = {"agent": "worker", "action": w.ACTION, "input": {"script": "none"}, **given}
    with pytest.raises(errors.SecretInArguments):
        invocations.start(ANN, **asked)
    assert world.hints == []
    assert [known.released for known in world.known] == [1]


def test_a_delivery_is_not_retired_with_the_secret_of_its_agent(world: World) -> None:
    run = world.run(complete())
    delivery = UUID(world.item(run).delivery_id)
    before = world.events(run)
    with pytest.raises(errors.SecretInArguments):
        deliveries.retire(ANN, delivery, authorization=f"order {SECRET}", key="once")
    assert world.events(run) == before
    assert world.known[-1].released == 1
    assert deliveries.retire(ANN, delivery, authorization="order 1", key="once").authorization == "order 1"


def test_a_comment_on_a_cancelled_invocation_holds_no_secret(world: World) -> None:
    one, other = (world.run(calls(call(w.SEND, to="ann")), complete()) for _ in range(2))
    cancellations.cancel(ANN, one, comment=f"it used {SECRET}")
    [delivery] = queries.deliveries(ANN, text=world.item(other).delivery).items
    deliveries.cancel(ANN, UUID(delivery.id), comment=f"it used {SECRET}")
    for invocation in (one, other):
        assert world.of_kind(invocation, "invocation.cancelled")[0]["comment"] == "it used [REDACTED]"
        assert SECRET not in seen(world, invocation)


def test_a_call_whose_very_id_is_the_secret_is_refused(world: World) -> None:
    invocation = world.run(calls(call(w.COUNT, SECRET, to="ann")), complete())
    assert world.tools[w.COUNT].ran == []
    assert "SECRET_IN_ARGUMENTS" in seen(world, invocation)
    assert SECRET not in seen(world, invocation)


@pytest.mark.parametrize("known", [True, False], ids=["known", "control: unknown"])
def test_a_secret_that_cannot_be_leased_is_kept_out_all_the_same(world: World, known: bool) -> None:
    world.tools[w.SEND].act = lambda arguments, context: f"the server said {SECRET}"
    waiting = world.run(calls(call(w.SEND, to="ann")), complete())
    world.lease_fails = True
    if not known:
        object.__setattr__(world.services, "known_secret", lambda tenant, agent: None)
    world.decide(world.approval(waiting))
    world.settle()
    assert world.status(waiting) == "failed"
    assert (SECRET not in seen(world, waiting)) is known
    assert all(one.released == 1 for one in world.known)


def test_whoever_logs_while_a_turn_runs_logs_no_secret_of_it(world: World) -> None:
    lines: list[str] = []

    def careless(arguments: dict[str, Json], context: ToolContext) -> Json:
        lines.append(logs.cleaned(logging.getLogger("some.library"), "debug", f"POST /v1?key={SECRET}"))
        return "done"

    world.tools[w.LOOK].act = careless
    world.run(calls(call(w.LOOK, to="ann")), complete())
    assert lines == ["POST /v1?key=[REDACTED]"]
    assert (
        leases.cleaned(SECRET) == SECRET
    )  # control: no turn runs, so nobody knows any more what the secret is


def test_a_secret_in_pieces_of_an_answer_reaches_no_frame(world: World) -> None:
    invocation = world.run(
        Answer(text=f"it is {SECRET}", reasoning=f"so {SECRET}", calls=(call(w.LOOK),)), complete()
    )
    assert SECRET not in seen(world, invocation)
    assert "it is [REDACTED]" in seen(world, invocation)
