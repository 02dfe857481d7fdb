"""Real threads: work is found, slots are kept for what people decided, cancelled turns stop, a faulty one harms nobody.

Every step is handed over explicitly; the limits of time are only there so that a failure ends.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from lifecycle_core.application import cancellations, signals, work
from lifecycle_core.contract import ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import ToolContext
from lifecycle_core.journal.models import Invocation
from lifecycle_core.workers import embedded
from lifecycle_core.workers.embedded import EmbeddedWorkers
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, call, calls, complete

pytestmark = pytest.mark.django_db(transaction=True)

WAIT = 20


@contextmanager
def working(**given: Any) -> Iterator[EmbeddedWorkers]:
    """Run workers for the length of a block."""
    workers = EmbeddedWorkers(**given)
    workers.start()
    try:
        yield workers
    finally:
        workers.stop()


class Advances:
    """Wait for what the journal says, without looking at a clock."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        signals.journal_advanced.connect(self._note)

    def _note(self, **hint: Any) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        """Return as soon as something holds, and fail when it never does."""
        deadline = time.monotonic() + WAIT
        with self._changed:
            while not holds():
                assert time.monotonic() < deadline, "it never happened"
                self._changed.wait(0.2)


@pytest.fixture
def advances() -> Advances:
    return Advances()


def status(invocation: UUID) -> str:
    return Invocation.objects.values_list("status", flat=True).get(pk=invocation)


@contextmanager
def blocked(world: World, tool: str = w.LOOK) -> Iterator["Gate"]:
    """Make a tool wait until the test lets it go on; a failing test lets everything go."""
    gate = Gate()
    world.tools[tool].act = gate.pass_through
    try:
        yield gate
    finally:
        gate.released.set()


class Gate:
    """A place at which calls stop."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self._inside = threading.Semaphore(0)

    def pass_through(self, arguments: dict[str, Json], context: ToolContext) -> Json:
        self._inside.release()
        assert self.released.wait(WAIT)
        return "seen"

    def wait_for(self, number: int) -> None:
        """Wait until so many more calls have arrived."""
        for _ in range(number):
            assert self._inside.acquire(timeout=WAIT)


def test_what_is_started_is_driven_and_what_is_decided_is_resumed(world: World, advances: Advances) -> None:
    with working():
        invocation = world.start(calls(call(w.SEND)), complete())
        advances.until(lambda: status(invocation) == w.AWAITING)
        world.decide(world.approval(invocation))
        advances.until(lambda: status(invocation) == "completed")
    assert len(world.tools[w.SEND].ran) == 1


def test_what_was_there_before_the_workers_is_found(world: World, advances: Advances) -> None:
    started = [world.start(complete()) for _ in range(5)]
    with working():
        advances.until(lambda: {status(one) for one in started} == {"completed"})


def test_many_invocations_are_each_driven_once(world: World, advances: Advances) -> None:
    with working(slots=4, reserved=1):
        started = [world.start(calls(call(w.LOOK, n=n)), complete()) for n in range(20)]
        advances.until(lambda: {status(one) for one in started} == {"completed"})
    assert sorted(arguments["n"] for arguments in world.tools[w.LOOK].arguments) == list(range(20))  # type: ignore[type-var]
    assert all(world.kinds(one).count("invocation.claimed") == 1 for one in started)


def test_slots_are_kept_for_what_people_decided(world: World, advances: Advances) -> None:
    waiting = world.run(calls(call(w.SEND)), complete())
    with blocked(world) as gate, working(slots=3, reserved=1):
        # More starts than there are slots, and more than a worker looks at, all of them older than the decision.
        started = [world.start(calls(call(w.LOOK)), complete()) for _ in range(16)]
        gate.wait_for(2)
        world.decide(world.approval(waiting))
        advances.until(lambda: status(waiting) == "completed")
        assert sum(status(one) == w.RUNNING for one in started) == 2
        gate.released.set()
        advances.until(lambda: {status(one) for one in started} == {"completed"})


def test_a_decision_on_a_young_invocation_is_found_among_many_old_starts(
    world: World, advances: Advances
) -> None:
    with blocked(world) as gate, working(slots=2, reserved=1):
        started = [world.start(calls(call(w.LOOK)), complete()) for _ in range(12)]
        gate.wait_for(1)
        world.clock.advance(1000)
        young = world.start(calls(call(w.SEND)), complete())
        world.drive(young, worker="by hand")
        world.decide(world.approval(young))
        advances.until(lambda: status(young) == "completed")
        assert sum(status(one) == "starting" for one in started) == 11
        gate.released.set()
        advances.until(lambda: {status(one) for one in started} == {"completed"})


def test_a_cancelled_turn_is_interrupted_while_its_model_call_is_blocked(
    world: World, advances: Advances
) -> None:
    asked = threading.Event()

    def block(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        def perform(emit: Any) -> ports.ModelAnswer:
            asked.set()
            assert session.cancelled.wait(WAIT)
            raise ports.ModelCallFailed("ABORTED", "cut")

        carrier.call_model(perform)

    provider = w.NativeProvider([block])
    world.providers["chat-completions"] = provider
    with working() as workers:
        invocation = world.start()
        assert asked.wait(WAIT)
        cancellations.cancel(w.ANN, invocation)
        assert status(invocation) == "cancelled"
        assert provider.opened[0].cancelled.wait(WAIT)
        advances.until(lambda: not workers._running)
    assert provider.opened[0].disposed == 1
    assert world.kinds(invocation)[-1] == "invocation.cancelled"
    assert embedded.WATCH_SECONDS <= 0.5, "a cancelled turn is to be interrupted within a second"


def test_stopping_interrupts_what_runs_and_the_next_start_goes_on(world: World, advances: Advances) -> None:
    asked = threading.Event()
    stopped: list[str] = []

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        def perform(emit: Any) -> ports.ModelAnswer:
            if not stopped:
                asked.set()
                assert session.cancelled.wait(WAIT)
                stopped.append("cut")
                raise ports.ModelCallFailed("ABORTED", "cut")
            return ports.ModelAnswer(text="", reasoning="", calls=(), finish="stop", usage={})

        carrier.call_model(perform)
        carrier.emit(ports.StructuredCompletion(result={"ok": True}))

    world.providers["chat-completions"] = w.NativeProvider([act])
    with working():
        invocation = world.start()
        assert asked.wait(WAIT)
    assert stopped == ["cut"]
    assert status(invocation) == w.RUNNING
    assert "invocation.failed" not in world.kinds(invocation)
    if not work.claimable(1):
        world.die()  # where other processes may serve too, a lease has to run out
    with working():
        advances.until(lambda: status(invocation) == "completed")


def test_stopping_ends_every_thread_and_takes_nothing_more(world: World, advances: Advances) -> None:
    before = set(threading.enumerate())
    with working() as workers:
        assert workers.problems() == []
        first = world.start(complete())
        advances.until(lambda: status(first) == "completed")
    assert set(threading.enumerate()) <= before
    second = world.start(complete())
    assert status(second) == "starting"
    assert len(work.claimable(10)) == 1


def test_a_thread_that_is_gone_is_a_problem_that_supervisors_see(world: World) -> None:
    with working() as workers:
        assert work.problems() == []
        looking, watching = workers._threads
        workers._stopping.set()
        workers._wake.set()
        looking.join(WAIT)
        watching.join(WAIT)
        assert len(work.problems()) == 2
    assert work.problems() == []


def test_faulty_invocations_keep_nobody_else_from_working(
    world: World, advances: Advances, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty: set[UUID] = set()
    tried: list[UUID] = []
    drive = work.drive

    def fail_some(invocation: UUID, worker: str, interruption: Any) -> None:
        if invocation in faulty:
            tried.append(invocation)
            raise RuntimeError("out of order")
        drive(invocation, worker, interruption)

    monkeypatch.setattr(work, "drive", fail_some)
    # Older than the good one, and more than a worker looks at.
    faulty |= {world.start(complete()) for _ in range(20)}
    world.clock.advance(1000)
    with working(slots=2, reserved=1):
        good = world.start(complete())
        advances.until(lambda: status(good) == "completed")
    assert len(tried) == len(set(tried)), "a faulty invocation is not tried again at once"


def test_a_lost_hint_costs_time_and_nothing_else(
    world: World, advances: Advances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LOOK_SECONDS", 0.05)
    with working() as workers:
        signals.journal_advanced.disconnect(workers._woken)
        invocation = world.start(complete())
        advances.until(lambda: status(invocation) == "completed")


def test_what_nobody_decides_in_time_expires_by_itself(
    world: World, advances: Advances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LOOK_SECONDS", 0.05)
    invocation = world.run(calls(call(w.SEND)), complete())
    with working():
        world.clock.advance(world.services.timing.approval_ms)
        advances.until(lambda: status(invocation) == "completed")
    assert [item.state for item in world.approvals(invocation, state=None)] == ["expired"]


def test_a_database_that_does_not_answer_for_a_while_is_outlived(
    world: World, advances: Advances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LOOK_SECONDS", 0.05)
    failed = threading.Event()
    claimable = work.claimable

    def fail_once(limit: int, without: Any = ()) -> Any:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("the database is away")
        return claimable(limit, without)

    monkeypatch.setattr(work, "claimable", fail_once)
    with working() as workers:
        assert failed.wait(WAIT)
        invocation = world.start(complete())
        advances.until(lambda: status(invocation) == "completed")
        assert workers.problems() == []


def test_two_workers_of_two_processes_drive_each_invocation_once(world: World, advances: Advances) -> None:
    with working(slots=2, reserved=0), working(slots=2, reserved=0):
        started = [world.start(calls(call(w.LOOK, n=n)), complete()) for n in range(12)]
        advances.until(lambda: {status(one) for one in started} == {"completed"})
    assert len(world.tools[w.LOOK].ran) == 12
    connections.close_all()
