"""What happened and could not be written: nobody goes on as if it had been, and nobody guesses."""

from typing import Any, Final
from uuid import UUID

import pytest
from django.db import OperationalError

from lifecycle_core.contract import events, ports
from lifecycle_core.contract.ports import Output, StructuredCompletion
from lifecycle_core.engine.ledger import LedgerBroken
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, World, call, calls, complete

pytestmark = pytest.mark.django_db

COMPLETION: Final = StructuredCompletion(result={"ok": True})


def failing_at(world: World, kind: type[events.Event], times: int = 1) -> None:
    """Let the next commits that hold a fact of some kind fail, as a database does that is away for a moment."""
    left = iter(range(times))

    def fail(change: ports.Change) -> None:
        if any(isinstance(fact, kind) for fact in change.events) and next(left, None) is not None:
            raise OperationalError("the database is away")

    world.store.before = fail


def broken_off(world: World, invocation: UUID) -> None:
    """Drive an invocation into the failure, and let the worker's lease run out."""
    with pytest.raises((OperationalError, LedgerBroken)):
        world.drive(invocation)
    assert world.status(invocation) in (w.RUNNING, "starting")
    assert {lease.released for lease in world.leases} == {1}
    world.die()


def test_persisting_that_throws_leaves_unknown_whether_an_unsafe_call_happened(world: World) -> None:
    failing_at(world, events.ToolCompleted)
    invocation = world.run(calls(call(w.SEND, "c1"), text="I send it."), complete())
    world.decide(world.approval(invocation))
    with pytest.raises(OperationalError):
        world.drive(invocation)
    assert len(world.tools[w.SEND].ran) == 1
    world.die()
    world.settle()
    assert world.status(invocation) == "unknown"
    disposition = world.disposition(invocation)
    assert (disposition["owner"], disposition["reason"]) == ("invocation", "CALL_INTERRUPTED")
    assert len(world.tools[w.SEND].ran) == 1
    assert world.of_kind(invocation, "model.responded")[0]["text"] == "I send it.", (
        "what was consumed is kept"
    )


@pytest.mark.parametrize(
    "kind",
    [
        events.SessionOpened,
        events.ModelRequested,
        events.ModelResponded,
        events.ToolRequested,
        events.ToolIntended,
        events.ToolCompleted,
        events.InvocationCompleted,
    ],
    ids=lambda kind: kind.kind,
)
def test_whatever_could_not_be_written_the_run_goes_on_from_what_was(
    world: World, kind: type[events.Event]
) -> None:
    failing_at(world, kind)
    invocation = world.start(calls(call(w.LOOK, "c1")), complete())
    broken_off(world, invocation)
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["c1"][0] == "executed"
    assert world.kinds(invocation).count("invocation.completed") == 1


@pytest.fixture
def stubborn(world: World) -> list[str]:
    """Install a session that goes on whatever is raised; gives what it was told."""
    told: list[str] = []

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        def perform(emit: Any) -> ports.ModelAnswer:
            return ports.ModelAnswer(text="", reasoning="", calls=(), finish="stop", usage={})

        for _ in range(3):
            try:
                carrier.call_model(perform)
            except Exception as fault:  # noqa: BLE001  (that is what it is for)
                told.append(type(fault).__name__)
        carrier.emit(Output(content="Never mind."))
        carrier.emit(COMPLETION)

    world.providers["chat-completions"] = NativeProvider([act])
    return told


def test_a_provider_that_goes_on_all_the_same_completes_nothing(world: World, stubborn: list[str]) -> None:
    failing_at(world, events.ModelRequested)
    invocation = world.start()
    broken_off(world, invocation)
    assert stubborn == ["OperationalError", "LedgerBroken", "LedgerBroken"]
    assert "invocation.completed" not in world.kinds(invocation)


def test_a_fault_of_the_provider_itself_is_one_failure_of_it(world: World) -> None:
    """The control: the same exception, raised by the provider."""

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        raise OperationalError("its own database is away")

    world.providers["chat-completions"] = NativeProvider([act])
    invocation = world.run()
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"
