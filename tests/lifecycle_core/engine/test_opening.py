"""Whatever ends a turn from outside ends the wait for its session too: while that is opened, and while it is restored."""

import threading
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, work
from lifecycle_core.contract import ports
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.providers.chat_session import ChatSession
from lifecycle_core.providers.in_process import InProcessProvider
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.test_cancel import WAIT, claimable, driving, sharing
from tests.lifecycle_core.engine.world import World, ask, calls, complete

pytestmark = pytest.mark.django_db(transaction=True)

type Place = str


class Slow(InProcessProvider):
    """Wait at one place, the first time, until that is stopped."""

    def __init__(self, world: World, place: Place) -> None:
        super().__init__(world._respond)
        self._place = place
        self.inside = threading.Event()
        self.stopped = threading.Event()

    def open(self, request: ports.SessionRequest) -> ChatSession:
        self._wait("open", request)
        return super().open(request)

    def restore(self, request: ports.SessionRequest) -> ChatSession:
        self._wait("restore", request)
        return super().restore(request)

    def _wait(self, place: Place, request: ports.SessionRequest) -> None:
        if place != self._place or self.inside.is_set():
            return
        request.on_interrupt(self.stopped.set)
        self.inside.set()
        assert self.stopped.wait(WAIT), "nobody stops it"
        raise ConnectionError("the process is gone")


@pytest.fixture(params=["open", "restore"])
def place(request: pytest.FixtureRequest) -> Place:
    return str(request.param)


@pytest.fixture
def slow(world: World, place: Place) -> Slow:
    made = Slow(world, place)
    world.providers["chat-completions"] = made
    return made


@pytest.fixture
def started(world: World, place: Place, slow: Slow) -> tuple[UUID, UUID]:
    """Return two invocations of one session, the first of which is about to wait at the place."""
    steps = [complete()] if place == "open" else [calls(ask("q1")), complete()]
    first, second = sharing(world, *steps)
    if place == "restore":
        assert world.drive(first) == w.AWAITING
        world.answer(world.input(first), "blue")
    return first, second


@pytest.fixture
def interrupted(
    world: World, slow: Slow, started: tuple[UUID, UUID]
) -> Iterator[Callable[[Callable[[Interruption], None]], Interruption]]:
    """Return a function that drives the first invocation, and does something while it waits for its session."""

    def drive(meanwhile: Callable[[Interruption], None]) -> Interruption:
        interruption = Interruption()
        with driving(world, started[0], interruption):
            assert slow.inside.wait(WAIT)
            meanwhile(interruption)
            assert slow.stopped.is_set(), "it is stopped at once, from the thread that watches"
        return interruption

    yield drive
    assert all(lease.released == 1 for lease in world.leases), "each lease is released once"


type Driven = Callable[[Callable[[Interruption], None]], Interruption]


def test_a_cancelled_one_stays_cancelled_and_the_next_has_its_session(
    world: World, started: tuple[UUID, UUID], interrupted: Driven
) -> None:
    first, second = started

    def cancel(interruption: Interruption) -> None:
        cancellations.cancel(w.BOB, first, comment="enough")
        assert claimable() == [], "its worker has not left it"
        work.watch({first: interruption}, "w1", renew=True)

    assert interrupted(cancel).reason == "cancelled"
    assert world.kinds(first)[-1] == "invocation.cancelled"
    assert claimable() == [second]
    assert world.drive(second) == "completed"


def test_one_that_has_had_its_time_has_timed_out(
    world: World, started: tuple[UUID, UUID], interrupted: Driven
) -> None:
    first, second = started

    def let_time_pass(interruption: Interruption) -> None:
        assert interruption.deadline_ms is not None
        world.clock.passed = interruption.deadline_ms + 1
        work.watch({first: interruption}, "w1", renew=True)

    assert interrupted(let_time_pass).reason == "time-limit"
    disposition = world.disposition(first)
    assert world.status(first) == "failed"
    assert (disposition["code"], disposition["retry"]) == ("PROVIDER_TIMED_OUT", "new-attempt")
    assert claimable() == [second]


def test_one_that_was_taken_over_says_nothing(
    world: World, started: tuple[UUID, UUID], interrupted: Driven
) -> None:
    first, _ = started
    said: list[list[str]] = []

    def take_over(interruption: Interruption) -> None:
        world.die()
        assert world.drive(first, "w2") == "completed"
        said.append(world.kinds(first))
        work.watch({first: interruption}, "w1", renew=True)

    assert interrupted(take_over).reason == "lease-lost"
    assert [world.kinds(first)] == said


def test_one_that_is_shut_down_goes_on_at_the_next_start(
    world: World, started: tuple[UUID, UUID], interrupted: Driven
) -> None:
    first, _ = started
    interrupted(lambda interruption: interruption.interrupt("shutdown"))
    assert world.item(first).disposition is None
    world.die()
    assert world.drive(first, "w2") == "completed"


def test_one_that_must_stop_before_it_waits_is_stopped_at_once(
    world: World, slow: Slow, started: tuple[UUID, UUID]
) -> None:
    interruption = Interruption()
    interruption.interrupt("time-limit")
    assert world.drive(started[0], interruption=interruption) == "failed"
    assert world.disposition(started[0])["code"] == "PROVIDER_TIMED_OUT"


def test_a_provider_that_fails_by_itself_is_no_interruption(
    world: World, place: Place, slow: Slow, started: tuple[UUID, UUID]
) -> None:
    """The control: it is the interruption that says how it ended."""
    slow.stopped.set()
    assert world.drive(started[0]) == {"open": "failed", "restore": "unknown"}[place]


def test_what_stopped_an_opening_is_called_no_more_once_it_is_over(
    world: World, place: Place, slow: Slow, started: tuple[UUID, UUID]
) -> None:
    slow.stopped.set()
    interruption = Interruption()
    world.drive(started[0], interruption=interruption)
    slow.stopped.clear()
    interruption.interrupt("shutdown")
    assert not slow.stopped.is_set()
