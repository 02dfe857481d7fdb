"""Cancelling is durable before anything is interrupted, and nothing that comes later undoes it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection, connections

from lifecycle_core.application import cancellations, deliveries, queries, work
from lifecycle_core.contract import errors, events, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import ToolContext
from lifecycle_core.contract.status import Status
from lifecycle_core.engine.control import Control
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.plugins.ask_gate import AskGate
from lifecycle_core.testing.answers import Answer
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

WAIT = 10


def cancel(invocation: UUID, comment: str = "enough") -> None:
    cancellations.cancel(w.BOB, invocation, comment=comment)


def test_what_has_not_begun_never_begins(world: World) -> None:
    invocation = world.start(complete())
    cancel(invocation)
    assert world.status(invocation) == "cancelled"
    assert world.kinds(invocation) == ["invocation.admitted", "invocation.cancelled"]
    assert work.claimable(10) == []
    assert world.drive(invocation) == "cancelled"
    assert (world.leases, world.seen) == ([], [])


def test_a_worker_that_looked_before_the_cancel_opens_nothing(world: World) -> None:
    invocation = world.start(complete())

    def cancel_at_claim(change: ports.Change) -> None:
        world.store.before = lambda change: None
        cancel(invocation)

    world.store.before = cancel_at_claim
    assert world.drive(invocation) == "cancelled"
    assert (world.leases, world.seen) == ([], [])
    assert world.kinds(invocation)[-1] == "invocation.cancelled"


def test_cancelling_closes_every_open_question_and_gives_every_call_its_result(world: World) -> None:
    invocation = world.run(calls(call(w.LOOK, "c0"), call(w.SEND, "c1"), call(w.PUT, "c2"), ask()))
    assert len(world.approvals(invocation)) == 2
    cancel(invocation)
    assert world.item(invocation).open_requests == []
    assert {item.state for item in world.approvals(invocation, state=None)} == {"cancelled"}
    assert [item.state for item in world.inputs(invocation, state=None)] == ["cancelled"]
    results = world.results(invocation)
    assert {id: results[id][0] for id in ("c0", "c1", "c2")} == {
        "c0": "executed",
        "c1": "cancelled",
        "c2": "cancelled",
    }
    assert len(results) == 4
    [fact] = world.of_kind(invocation, "invocation.cancelled")
    assert fact == {"reason": "COORDINATOR_STOP", "by": "user:bob", "comment": "enough"}
    assert work.claimable(10) == []


def test_an_approved_call_that_has_not_run_is_cancelled_and_never_runs(world: World) -> None:
    invocation = world.run(calls(call(w.SEND, "c1")))
    world.decide(world.approval(invocation))
    cancel(invocation)
    world.settle()
    assert world.tools[w.SEND].ran == []
    assert world.results(invocation)["c1"][0] == "cancelled"


@pytest.mark.parametrize("ended", ["completed", "failed", "invalid", "cancelled", "unknown"])
def test_what_has_ended_or_is_unknown_keeps_its_status(world: World, ended: str) -> None:
    invocation = ENDINGS[ended](world)
    before = world.item(invocation)
    assert before.status == ended
    cancel(invocation)
    assert world.item(invocation) == before


def _failed(world: World) -> UUID:
    world.lease_fails = True
    return world.run(complete())


def _cancelled(world: World) -> UUID:
    invocation = world.start(complete())
    cancel(invocation)
    return invocation


def _unknown(world: World) -> UUID:
    def lose(arguments: Any, context: Any) -> Json:
        raise ports.OutcomeUnknown("the line went dead")

    world.tools[w.LOOK].act = lose
    return world.run(calls(call(w.LOOK, "c1")))


ENDINGS: dict[str, Any] = {
    "completed": lambda world: world.run(complete()),
    "failed": _failed,
    "invalid": lambda world: world.run(Answer(text="I am done.")),
    "cancelled": _cancelled,
    "unknown": _unknown,
}


# While it runs.


def test_a_call_that_was_under_way_leaves_its_result_as_a_late_fact(world: World) -> None:
    def cancel_meanwhile(arguments: dict[str, Json], context: ToolContext) -> Json:
        cancel(invocation)
        interruption.interrupt("cancelled")
        assert context.interrupted()
        return "done all the same"

    interruption = Interruption()
    world.tools[w.LOOK].act = cancel_meanwhile
    invocation = world.start(calls(call(w.LOOK, "c1"), call(w.LOOK, "c2")), complete())
    assert world.drive(invocation, interruption=interruption) == "cancelled"
    assert len(world.tools[w.LOOK].ran) == 1
    assert len(world.seen) == 1
    [late] = world.of_kind(invocation, "late.result")
    assert (late["what"], late["detail"]["content"]) == ("tool.completed", "done all the same")
    assert world.results(invocation) == {"c2": ("cancelled", world.results(invocation)["c2"][1])}
    assert [lease.released for lease in world.leases] == [1]


def test_a_completion_that_comes_after_the_cancel_is_late(world: World) -> None:
    def cancel_and_complete(request: Any) -> Answer:
        cancel(invocation)
        return complete()

    invocation = world.start(cancel_and_complete)
    assert world.drive(invocation) == "cancelled"
    late = world.of_kind(invocation, "late.result")
    assert "invocation.completed" in [fact["what"] for fact in late]
    assert world.kinds(invocation).count("invocation.completed") == 0
    assert world.disposition(invocation)["code"] == "PROVIDER_CANCELLED"


def test_a_turn_that_was_interrupted_without_saying_anything_adds_nothing(world: World) -> None:
    def cancel_and_fail(request: Any) -> Answer:
        cancel(invocation)
        interruption.interrupt("cancelled")
        raise ports.ModelCallFailed("ABORTED", "cut")

    interruption = Interruption()
    invocation = world.start(cancel_and_fail)
    assert world.drive(invocation, interruption=interruption) == "cancelled"
    assert world.kinds(invocation)[-1] == "invocation.cancelled"


@pytest.mark.parametrize("asked_first", [True, False])
def test_what_a_turn_asks_while_it_is_being_cancelled_is_never_left_open(
    world: World, asked_first: bool
) -> None:
    """The worker's questions and the cancel race for the row; whoever is second must see the other."""
    invocation = world.start(calls(call(w.LOOK, "c1"), call(w.SEND, "c2")), complete())

    def meddle(change: ports.Change) -> None:
        asks = any(isinstance(fact, events.ApprovalRequested) for fact in change.events)
        cancels = any(isinstance(fact, events.InvocationCancelled) for fact in change.events)
        if asks and not asked_first:
            world.store.before = lambda change: None
            cancel(invocation)
        if cancels and asked_first:
            world.store.before = lambda change: None
            world.drive(invocation)

    world.store.before = meddle
    if asked_first:
        _claimed(world, invocation)
        cancel(invocation)
    else:
        world.drive(invocation)
    assert world.status(invocation) == "cancelled"
    assert world.item(invocation).open_requests == []
    if asked_first:
        assert world.results(invocation)["c2"][0] == "cancelled"


def _claimed(world: World, invocation: UUID) -> None:
    """The invocation is as the worker will find it: nothing was done yet."""
    assert world.status(invocation) == "starting"


def test_a_decision_that_races_with_the_end_of_the_run_does_not_leave_it_without_a_worker(
    world: World,
) -> None:
    """A run fails while a person decides: the end has to see the decision, and still be written."""
    invocation = world.start(calls(ask("a"), ask("b"), call(w.SEND, "c1")))

    def decide_first(change: ports.Change) -> None:
        if any(isinstance(fact, events.InvocationFailed) for fact in change.events):
            world.store.before = lambda change: None
            world.decide(world.approval(invocation), "reject", by=w.BOB)

    world.store.before = decide_first
    assert world.drive(invocation) == "failed"
    assert world.results(invocation)["c1"][0] == "denied"
    assert [item.state for item in world.approvals(invocation, state=None)] == ["rejected"]
    assert world.inputs(invocation) == []
    assert world.store.load(invocation).worker == ""


# From another thread.


@contextmanager
def driving(world: World, invocation: UUID, interruption: Interruption) -> Iterator[threading.Thread]:
    """Drive an invocation in a thread of its own, and see it end."""

    def run() -> None:
        try:
            work.drive(invocation, "w1", interruption)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    yield thread
    thread.join(WAIT)
    assert not thread.is_alive()


@pytest.mark.django_db(transaction=True)
def test_a_blocked_model_call_is_freed_by_the_watch_and_its_late_completion_ignored(world: World) -> None:
    asked = threading.Event()

    def block(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        def perform(emit: Any) -> ports.ModelAnswer:
            asked.set()
            assert session.cancelled.wait(WAIT)
            done = ports.ProposedCall(
                call_id="end", tool="workflow_complete", arguments={"result": {"ok": True}}
            )
            return ports.ModelAnswer(text="", reasoning="", calls=(done,), finish="tool-calls", usage={})

        carrier.call_tools(carrier.call_model(perform).calls)

    provider = w.NativeProvider([block])
    world.providers["chat-completions"] = provider
    invocation, interruption = world.start(), Interruption()
    with driving(world, invocation, interruption):
        assert asked.wait(WAIT)
        cancel(invocation)
        assert not interruption()
        work.watch({invocation: interruption}, "w1", renew=False)
        assert interruption.reason == "cancelled"
    assert world.status(invocation) == "cancelled"
    assert provider.opened[0].disposed == 1
    assert [lease.released for lease in world.leases] == [1]
    late = [fact["what"] for fact in world.of_kind(invocation, "late.result")]
    assert "invocation.completed" in late


@pytest.mark.django_db(transaction=True)
def test_a_turn_that_exceeds_its_time_is_interrupted_and_fails(world: World) -> None:
    asked = threading.Event()

    def block(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        def perform(emit: Any) -> ports.ModelAnswer:
            asked.set()
            assert session.cancelled.wait(WAIT)
            raise ports.ModelCallFailed("ABORTED", "cut")

        carrier.call_model(perform)

    world.providers["chat-completions"] = w.NativeProvider([block])
    world.apply("worker", limits="{ seconds = 60 }")
    invocation, interruption = world.start(), Interruption()
    with driving(world, invocation, interruption):
        assert asked.wait(WAIT)
        world.clock.passed += 60_000
        work.watch({invocation: interruption}, "w1", renew=True)
        assert not interruption()
        world.clock.passed += 1
        work.watch({invocation: interruption}, "w1", renew=True)
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("PROVIDER_TIMED_OUT", "new-attempt")


@pytest.mark.django_db(transaction=True)
def test_the_watch_renews_the_lease_of_what_runs_and_takes_it_from_nobody(world: World) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def wait(arguments: dict[str, Json], context: ToolContext) -> Json:
        asked.set()
        assert go_on.wait(WAIT)
        return "seen"

    world.tools[w.LOOK].act = wait
    invocation, interruption = world.start(calls(call(w.LOOK, "c1")), complete()), Interruption()
    with driving(world, invocation, interruption):
        assert asked.wait(WAIT)
        for _ in range(5):
            world.clock.advance(world.services.timing.lease_ms - 1)
            work.watch({invocation: interruption}, "w1", renew=True)
            assert work.claimable(10) == []
        go_on.set()
    assert world.status(invocation) == "completed"


@pytest.mark.django_db(transaction=True)
def test_a_turn_that_exceeds_its_time_is_interrupted_although_the_database_is_away(world: World) -> None:
    late, early, fresh = Interruption(), Interruption(), Interruption()
    late.deadline_ms, early.deadline_ms = world.clock.passed - 1, world.clock.passed
    with pytest.raises(OperationalError), connection.execute_wrapper(_away):
        work.watch({uuid4(): late, uuid4(): early, uuid4(): fresh}, "w1", renew=True)
    assert [one.reason for one in (late, early, fresh)] == ["time-limit", None, None]


def _away(*query: Any) -> Any:
    raise OperationalError("the database is away")


SHARED = '{ scope = "data-bound", isolation = "shared", source = "customer" }'
GIVEN: dict[str, Any] = {"input": {"customer": 7}, "delivery": "d1"}


def sharing(world: World, *steps: Any) -> tuple[UUID, UUID]:
    """Start two invocations that share a session, the first of which makes these steps."""
    world.apply("worker", session=SHARED)
    first = world.start(*steps, **GIVEN)
    world.clock.advance(1)
    return first, world.start(complete(), **GIVEN)


def claimable() -> list[UUID]:
    return [found.invocation for found in work.claimable(10)]


@pytest.mark.django_db(transaction=True)
def test_the_lease_of_a_cancelled_turn_is_renewed_until_its_worker_has_left_it(world: World) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def wait(arguments: dict[str, Json], context: ToolContext) -> Json:
        asked.set()
        assert go_on.wait(WAIT)
        return "seen"

    world.tools[w.LOOK].act = wait
    first, second = sharing(world, calls(call(w.LOOK, "c1")))
    interruption = Interruption()
    with driving(world, first, interruption):
        assert asked.wait(WAIT)
        cancel(first)
        for _ in range(5):
            world.clock.advance(world.services.timing.lease_ms - 1)
            work.watch({first: interruption}, "w1", renew=True)
            assert claimable() == []
        assert interruption.reason == "cancelled"
        told = len(world.hints)
        go_on.set()
    assert claimable() == [second]
    assert len(world.hints) > told, "whoever waits for the session is woken"
    assert world.drive(second) == "completed"
    assert world.store.load(first).worker == ""


def test_the_session_of_a_cancelled_turn_is_given_up_after_it_is_disposed_of(world: World) -> None:
    def cancel_meanwhile(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        cancel(first)
        raise ports.TurnInterrupted

    def release(invocation: UUID, token: int) -> None:
        at_release.append((invocation, token, [session.disposed for session in provider.opened]))
        given_up(invocation, token)

    at_release: list[Any] = []
    given_up = world.store.release
    world.store.release = release  # type: ignore[method-assign]
    world.providers["chat-completions"] = provider = w.NativeProvider([cancel_meanwhile])
    first, second = sharing(world)
    assert world.drive(first) == "cancelled"
    assert at_release == [(first, 1, [1])]
    assert claimable() == [second]


def test_the_session_of_a_cancelled_turn_whose_worker_died_is_free_when_its_lease_has_run_out(
    world: World,
) -> None:
    def cancel_and_die(arguments: dict[str, Json], context: ToolContext) -> Json:
        cancel(first)
        raise w.Killed

    world.tools[w.LOOK].act = cancel_and_die
    first, second = sharing(world, calls(call(w.LOOK, "c1")))
    with pytest.raises(w.Killed):
        world.drive(first)
    assert claimable() == []
    world.clock.advance(world.services.timing.lease_ms - 1)
    assert claimable() == []
    world.clock.advance(1)
    assert claimable() == [second]
    assert world.drive(second) == "completed"
    assert world.status(first) == "cancelled"


def test_the_watch_of_a_worker_does_not_renew_what_another_one_took_over(world: World) -> None:
    world.tools[w.LOOK].act = _die
    invocation = world.start(calls(call(w.LOOK, "c1")))
    world.kill(invocation, "w1")
    with pytest.raises(w.Killed):
        world.drive(invocation, "w2")
    before = world.store.load(invocation)
    world.clock.advance(1)
    assert watched(world, "w1", invocation, 1).reason == "lease-lost"
    assert world.store.load(invocation) == before
    assert watched(world, "w2", invocation, 2).reason is None
    assert world.store.load(invocation).lease_expires_at > before.lease_expires_at, "the control"


def test_a_turn_whose_lease_another_worker_took_is_interrupted(world: World) -> None:
    world.tools[w.LOOK].act = _die
    invocation = world.start(calls(call(w.LOOK, "c1")))
    for worker in ("w1", "w2"):
        world.kill(invocation, worker)
    first, second, third = (watched(world, "w1", invocation, token) for token in (1, 2, 3))
    assert (first.reason, second.reason, third.reason) == ("lease-lost", "lease-lost", None)
    assert watched(world, "w2", invocation, 2).reason is None


@pytest.mark.parametrize("ends", ["completed", w.AWAITING, "unknown"])
def test_a_turn_whose_lease_another_worker_took_and_gave_back_is_interrupted(world: World, ends: str) -> None:
    tool = {"completed": w.LOOK, w.AWAITING: w.SEND, "unknown": w.PUT}[ends]
    world.tools[w.COUNT].act = _die
    invocation = world.start(
        calls(call(w.COUNT, "c1"), call(w.COUNT, "c2")), calls(call(tool, "c3")), complete()
    )
    world.gates[:] = [w.AllowGate()]
    world.kill(invocation, "w1")
    world.tools[w.COUNT].act = lambda arguments, context: "counted"
    world.tools[w.PUT].act = _vanish
    world.gates[:] = [w.AllowGate() if ends != w.AWAITING else AskGate()]
    assert world.drive(invocation, "w2") == ends
    assert watched(world, "w1", invocation, 1).reason == "lease-lost"
    assert watched(world, "w3", invocation, 3).reason is None


def watched(world: World, worker: str, invocation: UUID, token: int) -> Interruption:
    """Return how a turn of a worker is interrupted that took, or is about to take, the lease with this token."""
    interruption = Interruption()
    interruption.deadline_ms, interruption.token = world.clock.passed + 1000, token
    work.watch({invocation: interruption}, worker, renew=True)
    return interruption


def _vanish(arguments: Any, context: Any) -> Json:
    raise ports.OutcomeUnknown("gone")


def _die(arguments: Any, context: Any) -> Json:
    raise w.Killed


# Interruption itself.


def test_the_first_reason_stands_and_whoever_watches_later_is_stopped_at_once() -> None:
    stopped: list[str] = []
    interruption = Interruption()
    interruption.watch(lambda: stopped.append("first"))
    interruption.interrupt("cancelled")
    interruption.interrupt("shutdown")
    assert interruption.reason == "cancelled"
    interruption.watch(lambda: stopped.append("second"))
    interruption.watch(None)
    assert stopped == ["first", "first", "second"]


# A whole delivery.


def test_cancelling_a_delivery_cancels_what_has_not_ended_and_nothing_of_another(world: World) -> None:
    done = world.run(complete(), delivery="d1")
    waiting = world.run(calls(call(w.SEND, "c1")), delivery="d1")
    fresh = world.start(complete(), delivery="d1")
    other = world.start(complete(), delivery="d2")
    [delivery] = queries.deliveries(w.ANN, text="d1").items
    cancelled = deliveries.cancel(w.ANN, UUID(delivery.id), comment="all of it")
    assert {item.id: item.status for item in cancelled.invocations} == {
        str(done): "completed",
        str(waiting): "cancelled",
        str(fresh): "cancelled",
    }
    assert world.status(other) == "starting"
    assert cancelled.process == "terminal"


@pytest.mark.parametrize(
    ("statuses", "process"),
    [
        ((), "stopped"),
        ((Status.AWAITING_INPUT,), "stopped"),
        ((Status.CANCELLED,), "stopped"),
        ((Status.UNKNOWN,), "stopped"),
        ((Status.COMPLETED, Status.AWAITING_INPUT), "terminal"),
        ((Status.FAILED,), "terminal"),
        ((Status.INVALID, Status.CANCELLED), "terminal"),
        ((Status.COMPLETED, Status.RUNNING), "running"),
        ((Status.STARTING,), "running"),
    ],
)
def test_the_aggregate_is_that_of_the_contract(statuses: tuple[Status, ...], process: str) -> None:
    control = Control(journal=None, clock=None)  # type: ignore[arg-type]
    assert control.inspect(statuses) == process


def test_cancelling_under_a_key_is_carried_out_once(world: World) -> None:
    invocation = world.start(complete())
    first = cancellations.cancel(w.BOB, invocation, comment="enough", key="k1")
    assert cancellations.cancel(w.BOB, invocation, comment="enough", key="k1") == first
    with pytest.raises(errors.KeyReused):
        cancellations.cancel(w.BOB, invocation, comment="other", key="k1")
    assert world.kinds(invocation).count("invocation.cancelled") == 1
