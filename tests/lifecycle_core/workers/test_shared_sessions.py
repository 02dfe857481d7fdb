"""Invocations that share a session have it one after the other, however many workers of however many processes there are."""

import threading
from typing import Any
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, deliveries, resolutions
from lifecycle_core.contract import ports
from lifecycle_core.journal.models import Session
from lifecycle_core.workers import embedded
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete
from tests.lifecycle_core.workers.test_embedded import WAIT, Advances, status, working

pytestmark = pytest.mark.django_db(transaction=True)

SHARED = '{ scope = "data-bound", isolation = "shared", source = "customer" }'
ISOLATED = '{ scope = "data-bound", isolation = "isolated", source = "customer" }'
GIVEN: dict[str, Any] = {"input": {"customer": 7}, "delivery": "d1"}


@pytest.fixture
def advances(monkeypatch: pytest.MonkeyPatch) -> Advances:
    monkeypatch.setattr(embedded, "LOOK_SECONDS", 0.05)
    return Advances()


class Room:
    """What happens in the sessions of a provider: who is inside, and how many were there at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0
        self.let_in = threading.Event()
        self.let_in.set()

    def act(self, session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        assert self.let_in.wait(WAIT)
        carrier.emit(ports.StructuredCompletion(result={"ok": True}))
        with self._lock:
            self._inside -= 1


def started(world: World, number: int, session: str) -> tuple[Room, w.NativeProvider, list[UUID]]:
    """Start invocations with the same data, one after the other."""
    room, invocations = Room(), []
    world.apply("worker", session=session)
    world.providers["chat-completions"] = provider = w.NativeProvider([room.act])
    for _ in range(number):
        world.clock.advance(1)
        invocations.append(world.start(**GIVEN))
    return room, provider, invocations


def test_those_that_share_a_session_run_one_after_the_other_the_oldest_first(
    world: World, advances: Advances
) -> None:
    room, provider, invocations = started(world, 6, SHARED)
    with working(slots=4, reserved=0), working(slots=4, reserved=0):
        advances.until(lambda: {status(one) for one in invocations} == {"completed"})
    assert (len(provider.opened), len(provider.restored), room.most) == (1, 5, 1)
    assert {session.opaque_identity for session in provider.restored} == {"native-1"}
    assert [world.store.load(one).generation for one in invocations] == [1, 2, 3, 4, 5, 6]


def test_those_that_are_isolated_run_at_once_in_sessions_of_their_own(
    world: World, advances: Advances
) -> None:
    """The control: it is the shared session that they wait for."""
    room, provider, invocations = started(world, 3, ISOLATED)
    room.let_in.clear()
    with working(slots=4, reserved=0):
        advances.until(lambda: room.most == 3)
        room.let_in.set()
        advances.until(lambda: {status(one) for one in invocations} == {"completed"})
    assert (len(provider.opened), len(provider.restored)) == (3, 0)


def test_whoever_waits_for_people_or_is_unknown_keeps_the_others_waiting(
    world: World, advances: Advances
) -> None:
    world.apply("worker", session=SHARED)
    world.tools[w.SEND].act = lose
    first = world.start(calls(ask()), calls(call(w.SEND)), complete(), **GIVEN)
    world.clock.advance(1)
    second = world.start(complete(), **GIVEN)
    with working(slots=4, reserved=1):
        advances.until(lambda: status(first) == w.AWAITING)
        assert world.kinds(second) == ["invocation.admitted"]
        world.answer(world.input(first), "blue")
        advances.until(lambda: bool(world.approvals(first)))
        world.decide(world.approval(first))
        advances.until(lambda: status(first) == "unknown")
        assert world.kinds(second) == ["invocation.admitted"], "nothing was claimed or opened"
        resolutions.resolve(w.ANN, first, outcome="failed", reason="nobody can know")
        advances.until(lambda: status(second) == "completed")
    assert world.store.load(first).session == world.store.load(second).session
    assert world.store.load(second).generation > world.store.load(first).generation


def test_whoever_waits_for_the_session_of_a_cancelled_one_has_it_when_that_is_disposed_of(
    world: World, advances: Advances
) -> None:
    room, provider, [first, second] = started(world, 2, SHARED)
    room.let_in.clear()
    with working(slots=2, reserved=0), working(slots=2, reserved=0):
        advances.until(lambda: room.most == 1)
        cancellations.cancel(w.ANN, first)
        assert provider.opened[0].cancelled.wait(WAIT)
        assert world.kinds(second) == ["invocation.admitted"], "nothing was claimed or opened"
        room.let_in.set()
        advances.until(lambda: status(second) == "completed")
    assert (status(first), room.most) == ("cancelled", 1)
    assert provider.opened[0].disposed == 1


def test_a_shared_session_ends_with_its_delivery(world: World, advances: Advances) -> None:
    _, provider, [first] = started(world, 1, SHARED)
    with working(slots=2, reserved=0):
        advances.until(lambda: status(first) == "completed")
        deliveries.retire(w.ANN, UUID(world.item(first).delivery_id), authorization="a")
        assert not Session.objects.exists()
        other = world.start(**GIVEN | {"delivery": "d2"})
        advances.until(lambda: status(other) == "completed")
    assert (len(provider.opened), provider.restored) == (2, [])


def lose(arguments: Any, context: Any) -> Any:
    raise ports.OutcomeUnknown("the line broke")
