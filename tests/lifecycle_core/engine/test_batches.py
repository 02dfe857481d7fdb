"""A batch of calls: what needs nobody runs at once, each decided call runs when it is decided, the model waits for all."""

import itertools
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import ToolContext
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

BATCH: Final = calls(
    call(w.LOOK, "c1", n=1), call(w.SEND, "c2", n=2), call(w.PUT, "c3", n=3), call(w.LOOK, "c4", n=4)
)


@pytest.fixture
def batch(world: World) -> UUID:
    """Return an invocation that waits for two of four calls."""
    return world.run(BATCH, complete())


def outcomes(world: World, invocation: UUID) -> dict[str, str]:
    """Return the outcomes of the calls that are not the completion."""
    return {
        id: outcome
        for id, (outcome, _) in world.results(invocation).items()
        if id.startswith("c") and id[1:].isdigit()
    }


def test_what_needs_nobody_has_run_when_the_batch_waits(world: World, batch: UUID) -> None:
    assert world.status(batch) == w.AWAITING
    assert world.tools[w.LOOK].arguments == [{"n": 1}, {"n": 4}]
    assert [item.call_id for item in world.approvals(batch)] == ["c2", "c3"]
    assert world.tools[w.SEND].ran == []
    assert set(world.disposition(batch)["open"]) == {item.id for item in world.approvals(batch)}


def test_approve_and_reject_leave_each_call_its_own_outcome(world: World, batch: UUID) -> None:
    first, second = world.approvals(batch)
    world.decide(first)
    world.decide(second, "reject", reason="not today")
    world.settle()
    assert world.status(batch) == "completed"
    assert world.tools[w.SEND].arguments == [{"n": 2}]
    assert world.tools[w.PUT].ran == []
    assert world.tools[w.LOOK].arguments == [{"n": 1}, {"n": 4}]
    assert outcomes(world, batch) == {"c1": "executed", "c2": "executed", "c3": "denied", "c4": "executed"}
    w.assert_paired(world.seen[-1])


def test_the_agent_is_told_each_result_under_its_own_call_and_in_the_order_of_the_calls(
    world: World, batch: UUID
) -> None:
    first, second = world.approvals(batch)
    world.decide(second)
    world.decide(first, "reject", reason="too risky")
    world.settle()
    told = world.last_results()
    assert list(told) == ["c1", "c2", "c3", "c4"]
    assert told["c1"] == '{"done":{"n":1}}'
    assert told["c3"] == '{"done":{"n":3}}'
    assert "too risky" in told["c2"]
    assert "REJECTED" in told["c2"]


def test_a_decided_call_runs_while_the_others_wait_and_the_model_is_not_asked(
    world: World, batch: UUID
) -> None:
    first, second = world.approvals(batch)
    asked = len(world.seen)
    world.decide(second)
    world.settle()
    assert world.tools[w.PUT].arguments == [{"n": 3}]
    assert world.status(batch) == w.AWAITING
    assert world.approvals(batch) == [first]
    assert len(world.seen) == asked
    world.decide(first)
    world.settle()
    assert world.status(batch) == "completed"
    assert len(world.seen) == asked + 1


MANY: Final = [call(w.SEND, f"c{n}", n=n) for n in range(4)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
@pytest.mark.parametrize("driven", ["each", "all"])
def test_decisions_in_any_order_give_each_call_one_run_and_the_model_one_turn(
    world: World, order: tuple[int, ...], driven: str
) -> None:
    invocation = world.run(calls(*MANY), complete())
    waiting = world.approvals(invocation)
    for index in order:
        world.decide(waiting[index])
        if driven == "each":
            world.settle()
    world.settle()
    assert world.status(invocation) == "completed"
    assert sorted(map(str, world.tools[w.SEND].arguments)) == sorted(str({"n": n}) for n in range(4))
    if driven == "each":
        assert world.tools[w.SEND].arguments == [{"n": n} for n in order]
    assert len(world.seen) == 2
    w.assert_paired(world.seen[-1])


def test_two_calls_with_equal_arguments_are_two_questions_and_two_runs(world: World) -> None:
    invocation = world.run(calls(call(w.SEND, "a", n=1), call(w.SEND, "b", n=1)), complete())
    first, second = world.approvals(invocation)
    assert first.request_digest != second.request_digest
    world.decide(first)
    world.decide(second, "reject")
    world.settle()
    assert len(world.tools[w.SEND].ran) == 1
    assert {id: world.results(invocation)[id][0] for id in "ab"} == {"a": "executed", "b": "denied"}


def test_the_digest_of_one_call_decides_no_other(world: World, batch: UUID) -> None:
    first, second = world.approvals(batch)
    with pytest.raises(errors.DigestMismatch):
        world.decide(first, request_digest=second.request_digest)
    assert len(world.approvals(batch)) == 2


def test_an_approved_call_in_one_turn_approves_nothing_in_the_next(world: World) -> None:
    invocation = world.run(calls(call(w.SEND, "a", n=1)), calls(call(w.SEND, "a", n=1)), complete())
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == w.AWAITING
    assert len(world.tools[w.SEND].ran) == 1
    assert world.approval(invocation).state == "pending"


# Questions beside calls.


def test_a_question_and_an_approval_wait_together_and_are_answered_in_either_order(world: World) -> None:
    for order in ("question first", "approval first"):
        invocation = world.run(calls(ask(), call(w.SEND, "c1", n=1)), complete())
        steps = [
            lambda i=invocation: world.answer(world.input(i), "blue"),
            lambda i=invocation: world.decide(world.approval(i)),
        ]
        for step in steps if order == "question first" else reversed(steps):
            assert world.status(invocation) == w.AWAITING
            step()
            world.settle()
        assert world.status(invocation) == "completed"
        w.assert_paired(world.seen[-1])


def test_the_completion_beside_calls_comes_after_them(world: World) -> None:
    done = call("workflow_complete", "end", result={"ok": True})
    invocation = world.run(calls(done, call(w.LOOK, "c1", n=1)))
    assert world.status(invocation) == "completed"
    assert world.tools[w.LOOK].arguments == [{"n": 1}]
    kinds = [(p["call_id"], p["outcome"]) for p in world.of_kind(invocation, "tool.completed")]
    assert kinds == [("c1", "executed"), ("end", "executed")]


def test_the_completion_beside_a_call_that_waits_is_invalid_and_closes_the_question(world: World) -> None:
    done = call("workflow_complete", "end", result={"ok": True})
    invocation = world.run(calls(done, call(w.SEND, "c1", n=1)))
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "PENDING_INPUT_AT_COMPLETION"
    [closed] = world.approvals(invocation, state=None)
    assert closed.state == "cancelled"
    assert world.results(invocation)["c1"][0] == "cancelled"
    assert world.tools[w.SEND].ran == []


def test_two_completions_in_one_answer_are_invalid(world: World) -> None:
    done = [call("workflow_complete", id, result={"ok": True}) for id in "ab"]
    invocation = world.run(calls(*done))
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "DUPLICATE_COMPLETION"


def test_two_questions_in_one_answer_fail_and_leave_nothing_open(world: World) -> None:
    invocation = world.run(calls(ask("a"), ask("b")))
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert world.inputs(invocation) == []
    assert {outcome for outcome, _ in world.results(invocation).values()} == {"cancelled"}


def test_two_calls_of_one_identity_fail_the_turn_before_anybody_is_asked(world: World) -> None:
    world.providers["chat-completions"] = w.NativeProvider([_twice])
    invocation = world.run()
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert world.approvals(invocation, state=None) == []
    assert world.tools[w.LOOK].ran == []


def _twice(session: Any, turn: Any, carrier: ports.Carrier) -> None:
    proposed = [ports.ProposedCall(call_id="dup", tool=tool, arguments={"n": 1}) for tool in (w.LOOK, w.SEND)]
    carrier.call_tools(proposed)


# Answers that come while a worker is at it.


def test_a_decision_that_comes_while_another_call_runs_is_kept_and_acted_upon(world: World) -> None:
    def decide_meanwhile(arguments: dict[str, Json], context: ToolContext) -> Json:
        if world.approvals(invocation):
            world.decide(world.approvals(invocation)[0])
        return "seen"

    world.tools[w.LOOK].act = decide_meanwhile
    invocation = world.start(BATCH, complete())
    world.drive(invocation)
    # Both questions were committed with the first automatic call, and the last one decided the second of them.
    world.settle()
    assert world.status(invocation) == "completed"
    assert len(world.tools[w.SEND].ran) == len(world.tools[w.PUT].ran) == 1


def test_an_answer_that_comes_while_a_decided_call_runs_starts_the_model_once(world: World) -> None:
    invocation = world.run(calls(ask(), call(w.SEND, "c1", n=1)), complete())

    def answer_meanwhile(arguments: dict[str, Json], context: ToolContext) -> Json:
        world.answer(world.input(invocation), "blue")
        return "sent"

    world.tools[w.SEND].act = answer_meanwhile
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == "completed"
    assert len(world.seen) == 2
    assert len(world.tools[w.SEND].ran) == 1


@pytest.mark.parametrize("count", [2, 5, 20])
def test_many_questions_answered_in_any_order_give_one_continuation(world: World, count: int) -> None:
    invocation = world.run(calls(*[call(w.SEND, f"c{n}", n=n) for n in range(count)]), complete())
    for approval in reversed(world.approvals(invocation)):
        world.decide(approval)
    world.settle()
    assert world.status(invocation) == "completed"
    assert len(world.tools[w.SEND].ran) == count
    assert len(world.seen) == 2
