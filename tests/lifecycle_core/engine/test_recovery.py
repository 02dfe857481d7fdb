"""A worker may die anywhere: whoever takes over goes on from the journal, and no effect is lost or run twice."""

import itertools
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connection

from lifecycle_core.application import cancellations, work
from lifecycle_core.contract import ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import EffectClass, ToolContext
from lifecycle_core.testing.answers import Answer
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import FakeTool, Killed, World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

CLASSES: Final = pytest.mark.parametrize("effect_class", list(EffectClass))


def dying(times: int = 1) -> Callable[[dict[str, Json], ToolContext], Json]:
    """Return how a tool acts in the middle of which the worker dies, so many times."""
    left = iter(range(times))

    def act(arguments: dict[str, Json], context: ToolContext) -> Json:
        if next(left, None) is not None:
            raise Killed
        return {"done": arguments}

    return act


def states(world: World, invocation: UUID, model_turn: int = 1) -> dict[str, str]:
    return {record.call_id: record.state for record in world.store.calls(invocation, model_turn)}


# The call states of a dead worker, for each effect class. The call in question is `x`; `first` is read-only.


@CLASSES
def test_a_call_that_was_only_requested_runs_once(world: World, effect_class: EffectClass) -> None:
    world.gates[:] = [w.AllowGate()]
    tool = w.BY_CLASS[effect_class]
    world.tools["peek"] = FakeTool("peek", EffectClass.READ_ONLY, act=dying())
    invocation = world.start(calls(call("peek", "first"), call(tool, "x", n=1)), complete())
    world.kill(invocation)
    assert states(world, invocation) == {"first": "intended", "x": "requested"}
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.tools[tool].arguments == [{"n": 1}]
    assert len(world.tools["peek"].ran) == 2


@CLASSES
def test_a_call_that_waited_still_waits(world: World, effect_class: EffectClass) -> None:
    world.gates[:] = [AskUnless("peek")]
    tool = w.BY_CLASS[effect_class]
    world.tools["peek"] = FakeTool("peek", EffectClass.READ_ONLY, act=dying())
    invocation = world.start(calls(call("peek", "first"), call(tool, "x", n=1)), complete())
    world.kill(invocation)
    assert states(world, invocation) == {"first": "intended", "x": "waiting"}
    approval = world.approval(invocation)
    world.settle()
    assert world.status(invocation) == w.AWAITING
    assert world.approval(invocation) == approval
    world.decide(approval)
    world.settle()
    assert world.tools[tool].arguments == [{"n": 1}]


@CLASSES
def test_a_call_that_was_approved_meanwhile_runs_once(world: World, effect_class: EffectClass) -> None:
    world.gates[:] = [AskUnless("peek")]
    tool = w.BY_CLASS[effect_class]

    def approve_and_die(arguments: dict[str, Json], context: ToolContext) -> Json:
        if world.approvals(invocation):
            world.decide(world.approval(invocation))
            raise Killed
        return "seen"

    world.tools["peek"] = FakeTool("peek", EffectClass.READ_ONLY, act=approve_and_die)
    invocation = world.start(calls(call("peek", "first"), call(tool, "x", n=1)), complete())
    world.kill(invocation)
    assert states(world, invocation) == {"first": "intended", "x": "approved"}
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.tools[tool].arguments == [{"n": 1}]


class AskUnless:
    """Ask about every tool but some."""

    name = "ask-unless"

    def __init__(self, *free: str) -> None:
        self._free = free

    def judge(self, admission: Any) -> Any:
        verdict = w.AllowGate().judge(admission)
        if admission.tool in self._free:
            return verdict
        return type(verdict)(outcome="ask", rule=self.name, risk="low")


REPEATABLE: Final = [EffectClass.READ_ONLY, EffectClass.IDEMPOTENT]


@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("effect_class", REPEATABLE)
def test_a_call_that_was_sent_and_repeats_harmlessly_runs_again_under_its_identity(
    world: World, effect_class: EffectClass, gated: bool
) -> None:
    world.gates[:] = [AskUnless() if gated else w.AllowGate()]
    tool = world.tools[w.BY_CLASS[effect_class]]
    tool.act = dying(2)
    invocation = world.start(calls(call(tool.name, "x", n=1)), complete())
    if gated:
        world.drive(invocation)
        world.decide(world.approval(invocation))
    world.kill(invocation)
    assert states(world, invocation) == {"x": "intended"}
    world.kill(invocation, worker="w2")
    world.settle()
    assert world.status(invocation) == "completed"
    assert len(tool.ran) == 3
    assert len(set(map(str, tool.ran))) == 1, "the identity or the arguments changed"
    assert [p["attempt"] for p in world.of_kind(invocation, "tool.intended")] == [1, 2, 3]
    assert world.results(invocation)["x"][0] == "executed"
    w.assert_paired(world.seen[-1])


@pytest.mark.parametrize(
    ("found", "runs", "status"), [("done", 1, "completed"), ("not_done", 2, "completed")]
)
def test_a_call_that_nobody_was_asked_about_is_asked_with_what_it_would_have_changed(
    world: World, found: Any, runs: int, status: str
) -> None:
    world.gates[:] = [w.AllowGate()]
    tool = world.tools[w.PUT]
    tool.act, tool.found, tool.state = dying(), found, "before"
    invocation = world.start(calls(call(w.PUT, "x", n=1)), complete())
    world.kill(invocation)
    world.settle()
    assert (world.status(invocation), len(tool.ran)) == (status, runs)
    assert tool.asked_with == [{"state": "before"}]


def test_a_call_whose_ground_has_moved_since_the_crash_asks_people(world: World) -> None:
    world.gates[:] = [w.AllowGate()]
    tool = world.tools[w.PUT]
    tool.act, tool.found, tool.state = dying(), "not_done", "before"
    invocation = world.start(calls(call(w.PUT, "x", n=1)), complete())
    world.kill(invocation)
    tool.state = "after"
    world.settle()
    assert (world.status(invocation), len(tool.ran)) == (w.AWAITING, 1)
    assert world.approval(invocation).tool == w.PUT


@pytest.mark.parametrize(
    ("found", "runs", "status"),
    [("done", 1, "completed"), ("not_done", 2, "completed"), ("unknown", 1, "unknown")],
)
def test_a_call_that_was_sent_and_can_be_asked_is_asked(
    world: World, found: Any, runs: int, status: str
) -> None:
    tool = world.tools[w.PUT]
    tool.act, tool.found = dying(), found
    invocation = world.run(calls(call(w.PUT, "x", n=1)), complete())
    world.decide(world.approval(invocation))
    world.kill(invocation)
    world.settle()
    assert world.status(invocation) == status
    assert len(tool.ran) == runs
    assert len(tool.asked) == 1
    if found == "done":
        assert world.results(invocation)["x"] == ("executed", {"found": {"n": 1}})
        [completed] = [p for p in world.of_kind(invocation, "tool.completed") if p["call_id"] == "x"]
        assert completed["reconciled"] is True


def test_a_tool_that_fails_when_it_is_asked_says_that_nobody_knows(world: World) -> None:
    class Broken(FakeTool):
        def reconcile(self, *given: Any) -> Any:
            raise RuntimeError("out of order")

    world.tools[w.PUT] = Broken(w.PUT, EffectClass.RECONCILABLE, act=dying())
    invocation = world.run(calls(call(w.PUT, "x")), complete())
    world.decide(world.approval(invocation))
    world.kill(invocation)
    world.settle()
    assert world.status(invocation) == "unknown"


@pytest.mark.parametrize("gated", [True, False])
def test_a_call_that_was_sent_and_may_not_be_repeated_makes_the_invocation_unknown(
    world: World, gated: bool
) -> None:
    world.gates[:] = [AskUnless() if gated else w.AllowGate()]
    tool = world.tools[w.SEND]
    tool.act = dying()
    invocation = world.start(calls(call(w.SEND, "x", n=1)), complete())
    if gated:
        world.drive(invocation)
        world.decide(world.approval(invocation))
    world.kill(invocation)
    world.settle()
    assert world.status(invocation) == "unknown"
    assert len(tool.ran) == 1
    [intended] = world.of_kind(invocation, "tool.intended")
    [unknown] = world.of_kind(invocation, "invocation.became-unknown")
    assert unknown["open_intents"] == [intended["call"]]
    assert unknown["reason"] == "CALL_INTERRUPTED"
    assert states(world, invocation) == {"x": "intended"}


def test_an_unknown_outcome_keeps_the_open_questions(world: World) -> None:
    tool = world.tools[w.SEND]
    tool.act = dying()
    invocation = world.run(calls(call(w.SEND, "x"), call(w.PUT, "y"), ask()), complete())
    world.decide(world.approvals(invocation)[0])
    world.kill(invocation)
    world.settle()
    assert world.status(invocation) == "unknown"
    assert [item.call_id for item in world.approvals(invocation)] == ["y"]
    assert len(world.inputs(invocation)) == 1


@CLASSES
def test_a_call_that_is_settled_never_runs_again(world: World, effect_class: EffectClass) -> None:
    world.gates[:] = [w.AllowGate()]
    tool = world.tools[w.BY_CLASS[effect_class]]
    invocation = world.start(calls(call(tool.name, "x", n=1)), complete())

    def die_after_outcome(change: ports.Change) -> None:
        if any(fact.kind == "tool.completed" for fact in change.events):
            world.store.after = lambda change: None
            raise Killed

    world.store.after = die_after_outcome
    world.kill(invocation)
    assert states(world, invocation) == {"x": "settled"}
    world.settle()
    assert world.status(invocation) == "completed"
    assert len(tool.ran) == 1
    w.assert_paired(world.seen[-1])


# Killed at every commit.


def commits_of(world: World, scenario: Callable[[World], UUID]) -> int:
    before = len(world.store.changes)
    scenario(world)
    return len(world.store.changes) - before


def gated(world: World) -> UUID:
    """Run a whole invocation with an automatic call, a question and an approval, as often as its worker dies."""
    invocation = world.start(
        calls(call(w.LOOK, "c1", n=1), call(w.PUT, "c2", n=2), ask()),
        calls(call(w.LOOK, "c3", n=3)),
        complete(),
    )
    for _ in range(12):
        try:
            world.settle()
        except Killed:
            world.die()
            continue
        if world.status(invocation) != w.AWAITING:
            break
        for approval in world.approvals(invocation):
            world.decide(approval)
        for question in world.inputs(invocation):
            world.answer(question, "blue")
    return invocation


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_worker_that_dies_at_any_commit_leaves_a_run_that_ends_the_same(world: World, moment: str) -> None:
    world.tools[w.PUT].found = "truth"
    total = commits_of(world, gated)
    assert total >= 9
    for fatal in range(total):
        counted = itertools.count()
        ran = len(world.tools[w.PUT].ran)

        def die(change: ports.Change, fatal: int = fatal, counted: Any = counted) -> None:
            if change.actor.startswith("agent:") and next(counted) == fatal:
                raise Killed

        setattr(world.store, moment, die)
        invocation = gated(world)
        setattr(world.store, moment, lambda change: None)
        assert world.status(invocation) == "completed", f"killed {moment} commit {fatal}"
        assert set(world.results(invocation)) >= {"c1", "c2", "c3"}
        assert len(world.tools[w.PUT].ran) == ran + 1, f"killed {moment} commit {fatal}"
        w.assert_paired(world.seen[-1])


def test_a_completion_that_was_stored_and_not_heard_completes(world: World) -> None:
    world.tools[w.LOOK].act = dying()
    done = call("workflow_complete", "end", result={"ok": True})
    invocation = world.start(calls(done, call(w.LOOK, "x")))
    world.kill(invocation)
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.disposition(invocation)["result"] == {"ok": True}
    assert len(world.tools[w.LOOK].ran) == 2
    assert world.results(invocation)["end"] == ("executed", "accepted")
    assert len(world.seen) == 1


def test_a_question_that_was_stored_and_not_asked_is_asked(world: World) -> None:
    world.tools[w.LOOK].act = dying()
    invocation = world.start(calls(ask(prompt="Which?"), call(w.LOOK, "x")), complete())
    world.kill(invocation)
    world.settle()
    assert world.status(invocation) == w.AWAITING
    assert world.input(invocation).prompt == "Which?"
    world.answer(world.input(invocation), "this one")
    world.settle()
    assert world.status(invocation) == "completed"


# Leases.


def test_a_live_lease_keeps_others_away(world: World) -> None:
    world.tools[w.LOOK].act = dying()
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    with pytest.raises(Killed):
        world.drive(invocation)
    world.clock.advance(world.services.timing.lease_ms - 1)
    assert work.claimable(10) == []
    before = world.item(invocation)
    assert world.drive(invocation, "w2") == w.RUNNING
    assert world.item(invocation) == before
    world.clock.advance(1)
    assert [found.invocation for found in work.claimable(10)] == [invocation]
    world.settle()
    assert world.status(invocation) == "completed"


def test_leases_of_a_process_that_is_gone_are_void_at_once_where_only_one_process_serves(
    world: World,
) -> None:
    world.tools[w.LOOK].act = dying()
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    with pytest.raises(Killed):
        world.drive(invocation)
    if connection.vendor != "sqlite":
        assert work.void_leases() == 0
        assert work.claimable(10) == []
        return
    assert work.void_leases() == 1
    assert [found.invocation for found in work.claimable(10)] == [invocation]
    assert not work.claimable(10)[0].resumes


def test_who_takes_over_says_so(world: World) -> None:
    world.tools[w.LOOK].act = dying()
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    world.kill(invocation)
    world.drive(invocation, "w2")
    claimed = world.of_kind(invocation, "invocation.claimed")
    assert [(p["worker"], p["token"], p["recovered"]) for p in claimed] == [("w1", 1, False), ("w2", 2, True)]
    intended = world.of_kind(invocation, "tool.intended")
    assert [p["token"] for p in intended] == [1, 2]


def test_a_lease_that_is_lost_in_the_middle_of_a_call_merges_nothing_and_keeps_the_late_result(
    world: World,
) -> None:
    tool = world.tools[w.COUNT]
    world.gates[:] = [w.AllowGate()]

    def be_slow(arguments: dict[str, Json], context: ToolContext) -> Json:
        tool.act = lambda arguments, context: "in time"
        world.die()
        assert world.drive(invocation, "w2") == "completed"
        return "too late"

    tool.act = be_slow
    invocation = world.start(calls(call(w.COUNT, "x", n=1)), complete())
    assert world.drive(invocation, "w1") == "completed"
    assert world.results(invocation)["x"] == ("executed", "in time")
    assert world.last_results()["x"] == "in time"
    [late] = world.of_kind(invocation, "late.result")
    assert late["what"] == "tool.completed"
    assert late["detail"]["content"] == "too late"
    assert len(world.seen) == 2
    assert world.kinds(invocation)[-1] == "late.result"


def test_a_worker_without_its_lease_says_nothing_more(world: World) -> None:
    tool = world.tools[w.LOOK]

    def be_slow(arguments: dict[str, Json], context: ToolContext) -> Json:
        tool.act = dying()
        world.die()
        with pytest.raises(Killed):
            world.drive(invocation, "w2")
        return "too late"

    tool.act = be_slow
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    assert world.drive(invocation, "w1") == w.RUNNING
    assert world.results(invocation) == {}
    assert [late["detail"]["content"] for late in world.of_kind(invocation, "late.result")] == ["too late"]
    assert len(world.seen) == 1
    assert world.store.load(invocation).worker == "w2"
    world.die()
    world.settle()
    assert world.status(invocation) == "completed"


# Interrupted before anything was sent.


def test_a_worker_that_dies_before_the_session_is_stored_leaves_a_fresh_start(world: World) -> None:
    world.store.before = lambda change: _die_on(change, "session.opened")
    invocation = world.start(complete())
    world.kill(invocation)
    assert world.status(invocation) == "starting"
    world.store.before = lambda change: None
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.kinds(invocation).count("session.opened") == 1


def _die_on(change: ports.Change, kind: str) -> None:
    if any(fact.kind == kind for fact in change.events):
        raise Killed


def test_a_model_that_was_asked_and_not_heard_is_asked_again_under_its_number(world: World) -> None:
    answers = iter([_killed])

    def first_dies(request: Any) -> Answer:
        for die in answers:
            die()
        return complete()

    invocation = world.start(first_dies)
    world.kill(invocation)
    world.settle()
    assert world.status(invocation) == "completed"
    assert [p["model_turn"] for p in world.of_kind(invocation, "model.requested")] == [1, 1]
    assert [p["model_turn"] for p in world.of_kind(invocation, "model.responded")] == [1]
    assert world.seen[0] == world.seen[1]
    assert world.item(invocation).model_turns == 1


def _killed() -> None:
    raise Killed


def test_a_cancelled_invocation_is_not_taken_over(world: World) -> None:
    world.tools[w.LOOK].act = dying()
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    world.kill(invocation)
    cancellations.cancel(w.ANN, invocation)
    assert work.claimable(10) == []
    assert world.drive(invocation) == "cancelled"
    assert len(world.tools[w.LOOK].ran) == 1
