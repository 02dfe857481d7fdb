"""A lease that is lost: a second worker takes over, the first one stops, and what it still delivers changes nothing.

Two sets of workers stand for two processes on one database; they share nothing but the journal. Where a lease is to run out,
the first one's renewals do not come through, as in a process that the database has not heard of for a while.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, deliveries, work
from lifecycle_core.contract import ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import ToolContext
from lifecycle_core.journal.models import Event, Invocation
from lifecycle_core.workers import embedded
from lifecycle_core.workers.embedded import EmbeddedWorkers
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, call, calls, complete
from tests.lifecycle_core.workers.test_embedded import WAIT, Advances, status, working

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def advances(monkeypatch: pytest.MonkeyPatch) -> Advances:
    """Look often, renew never, and end no lease at a start: one is lost only when a test lets time pass."""
    monkeypatch.setattr(work, "void_leases", lambda: 0)
    monkeypatch.setattr(embedded, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(embedded, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(embedded, "RENEW_SECONDS", 3600.0)
    return Advances()


class Holder:
    """A tool whose first run stays inside until its worker is told to stop; `said` is what it delivers then."""

    def __init__(self, said: Json = "too late") -> None:
        self.said = said
        self.inside = threading.Event()
        self.told = threading.Event()
        self.go_on = threading.Event()

    def act(self, arguments: dict[str, Json], context: ToolContext) -> Json:
        if self.inside.is_set():
            return "in time"
        self.inside.set()
        until(context.interrupted)
        self.told.set()
        assert self.go_on.wait(WAIT)
        return self.said


def until(holds: Callable[[], bool]) -> None:
    """Return as soon as something holds."""
    for _ in range(WAIT * 100):
        if holds():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it never happened")


@contextmanager
def taking_over(world: World, holder: Holder, started: UUID) -> Iterator[tuple[EmbeddedWorkers, str]]:
    """Let the lease of the worker that runs a call run out, with another one there; both are stopped at the end."""
    with working(slots=1) as first:
        assert holder.inside.wait(WAIT)
        with working(slots=1) as second:
            try:
                world.die()
                assert holder.told.wait(WAIT)
                yield first, second._name
            finally:
                holder.go_on.set()
            until(lambda: not first._running and not second._running)


def test_a_live_holder_that_lost_its_lease_stops_and_its_late_result_is_kept_and_ignored(
    world: World, advances: Advances
) -> None:
    holder = Holder()
    world.tools[w.LOOK].act = holder.act
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    with taking_over(world, holder, invocation) as (first, second):
        advances.until(lambda: status(invocation) == "completed")
        assert invocation in first._running, "the first one is still inside of its call"
        claimed = world.of_kind(invocation, "invocation.claimed")
        assert [(each["worker"], each["token"]) for each in claimed] == [(first._name, 1), (second, 2)]
    assert world.results(invocation)["x"] == ("executed", "in time")
    [late] = world.of_kind(invocation, "late.result")
    assert (late["what"], late["detail"]["content"]) == ("tool.completed", "too late")
    assert len(world.seen) == 2, "the one that lost its lease asks no model"
    assert [call for call, _ in world.tools[w.LOOK].ran] == [world.tools[w.LOOK].ran[0][0]] * 2
    assert world.kinds(invocation).count("invocation.completed") == 1


def test_what_comes_while_the_second_worker_still_runs_is_late_too(world: World, advances: Advances) -> None:
    first_call, second_call = Holder(), threading.Event()

    def act(arguments: dict[str, Json], context: ToolContext) -> Json:
        if not first_call.inside.is_set():
            return first_call.act(arguments, context)
        assert second_call.wait(WAIT)
        return "in time"

    world.tools[w.COUNT].act = act
    world.gates[:] = [w.AllowGate()]
    invocation = world.start(calls(call(w.COUNT, "x")), complete())
    with taking_over(world, first_call, invocation):
        until(lambda: len(world.tools[w.COUNT].ran) == 2)
        first_call.go_on.set()
        advances.until(lambda: "late.result" in world.kinds(invocation))
        assert status(invocation) == w.RUNNING
        assert world.results(invocation) == {}
        second_call.set()
        advances.until(lambda: status(invocation) == "completed")
    assert world.results(invocation)["x"] == ("executed", "in time")


def test_an_unsafe_call_of_a_holder_that_lost_its_lease_is_unknown_and_its_late_result_is_there_to_read(
    world: World, advances: Advances
) -> None:
    holder = Holder("sent")
    world.tools[w.SEND].act = holder.act
    world.gates[:] = [w.AllowGate()]
    invocation = world.start(calls(call(w.SEND, "x")), complete())
    with taking_over(world, holder, invocation):
        advances.until(lambda: status(invocation) == "unknown")
    assert len(world.tools[w.SEND].ran) == 1, "nobody sends it again"
    assert (status(invocation), world.results(invocation)) == ("unknown", {})
    [late] = world.of_kind(invocation, "late.result")
    assert late["detail"]["content"] == "sent"


def test_a_native_turn_whose_lease_is_lost_is_cancelled_and_completes_nothing(
    world: World, advances: Advances
) -> None:
    opened = threading.Event()

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        if not opened.is_set():
            carrier.emit(ports.Output(content="mine"))
            opened.set()
            assert session.cancelled.wait(WAIT), "the turn is stopped in its session"
            carrier.emit(ports.StructuredCompletion(result={"ok": "late"}))
            return
        carrier.emit(ports.StructuredCompletion(result={"ok": "in time"}))

    provider = w.NativeProvider([act])
    world.providers["chat-completions"] = provider
    invocation = world.start()
    with working(slots=1) as first:
        assert opened.wait(WAIT)
        with working(slots=1) as second:
            world.die()
            advances.until(lambda: status(invocation) == "completed")
            until(lambda: not first._running and not second._running)
    assert world.disposition(invocation)["result"] == {"ok": "in time"}
    assert "invocation.completed" in [late["what"] for late in world.of_kind(invocation, "late.result")]
    assert [session.disposed for session in (*provider.opened, *provider.restored)] == [1, 1]


def test_what_a_holder_delivers_after_its_delivery_is_retired_changes_nothing(
    world: World, advances: Advances
) -> None:
    holder = Holder()
    world.tools[w.LOOK].act = holder.act
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    delivery = UUID(world.item(invocation).delivery_id)
    with working(slots=1) as first:
        assert holder.inside.wait(WAIT)
        cancellations.cancel(w.ANN, invocation)
        assert holder.told.wait(WAIT)
        retired = deliveries.retire(w.ANN, delivery, authorization="a")
        before = Event.objects.count()
        holder.go_on.set()
        until(lambda: not first._running)
    assert not Invocation.objects.exists()
    assert Event.objects.count() == before
    assert deliveries.retire(w.ANN, delivery, authorization="a") == retired


def test_a_dead_lease_is_found_without_any_hint(world: World, advances: Advances) -> None:
    def die(arguments: dict[str, Json], context: ToolContext) -> Json:
        raise w.Killed

    world.tools[w.LOOK].act = die
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    with pytest.raises(w.Killed):
        world.drive(invocation, "one that is gone")
    world.tools[w.LOOK].act = lambda arguments, context: "seen"
    assert work.claimable(10) == [], "its lease lives"
    with working():
        world.die()
        advances.until(lambda: status(invocation) == "completed")
    claimed: list[Any] = [each["recovered"] for each in world.of_kind(invocation, "invocation.claimed")]
    assert claimed == [False, True]


def test_a_holder_whose_renewals_come_through_is_not_taken_over(
    world: World, advances: Advances, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: it is the lost lease that lets the second one in, and nothing else."""
    monkeypatch.setattr(embedded, "RENEW_SECONDS", 0.0)
    holder = Holder()
    world.tools[w.LOOK].act = holder.act
    invocation = world.start(calls(call(w.LOOK, "x")), complete())
    step = world.services.timing.lease_ms // 2
    with working(slots=1) as first, working(slots=1) as second:
        assert holder.inside.wait(WAIT)
        for _ in range(4):
            before = Invocation.objects.get(pk=invocation).lease_expires_at
            world.clock.advance(step)
            until(lambda: Invocation.objects.get(pk=invocation).lease_expires_at > before)  # noqa: B023
        assert (invocation in first._running) != (invocation in second._running)
        assert not holder.told.is_set()
        cancellations.cancel(w.ANN, invocation)
        holder.go_on.set()
        until(lambda: not first._running and not second._running)
    assert len(world.of_kind(invocation, "invocation.claimed")) == 1
