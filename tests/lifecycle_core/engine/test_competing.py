"""Coordinators who act at once: one of them is first, the others are told, and nothing happens twice."""

from functools import partial
from typing import Any
from uuid import UUID

import pytest

from lifecycle_core.application import deliveries, resolutions
from lifecycle_core.contract import errors, events, ports
from lifecycle_core.contract.resolution import Finding
from lifecycle_core.engine.control import Control
from lifecycle_core.journal.models import Event
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World
from tests.lifecycle_core.journal import racing

pytestmark = pytest.mark.django_db(transaction=True)

CARL, DORA = (w.actor("coordinator", name=f"user:{name}") for name in ("carl", "dora"))


def lose(arguments: Any, context: Any) -> Any:
    raise ports.OutcomeUnknown("the line broke")


def unknown(world: World) -> tuple[UUID, str]:
    """Return an invocation of which nobody knows how it went on, and the call that was lost."""
    world.gates[:] = [w.AllowGate()]
    world.tools[w.SEND].act = lose
    invocation = world.run(w.calls(w.call(w.SEND, "c1")), w.complete())
    world.tools[w.SEND].act = lambda arguments, context: "sent"
    [intent] = resolutions.open_intents(CARL, invocation)
    return invocation, intent.call


@pytest.mark.parametrize("round_", range(3))
def test_of_two_coordinators_who_say_different_things_one_is_first(world: World, round_: int) -> None:
    invocation, call = unknown(world)
    did_not = Finding(call=call, happened=False, then="run")
    happened = Finding(call=call, happened=True, result="sent")
    say = partial(resolutions.resolve, invocation=invocation, outcome="continue", reason="I looked")
    results = racing.together(
        lambda: say(CARL, findings=[did_not]),
        lambda: say(DORA, findings=[happened]),
        lambda: resolutions.resolve(CARL, invocation, outcome="failed", reason="I give up"),
    )
    assert len(racing.won(results)) == 1, results
    assert sum(isinstance(result, errors.StatusConflict) for result in results) == 2
    world.settle()
    assert len(world.of_kind(invocation, "call.resolved")) <= 1
    assert len([kind for kind in world.kinds(invocation) if kind.startswith("unknown.")]) == 1
    assert sum(fact["call"] == call for fact in world.of_kind(invocation, "tool.completed")) <= 1
    assert len(world.tools[w.SEND].ran) == world.kinds(invocation).count("tool.intended")


def test_the_same_word_of_one_coordinator_sent_often_counts_once(world: World) -> None:
    invocation, call = unknown(world)
    say = partial(
        resolutions.resolve,
        CARL,
        invocation,
        outcome="continue",
        reason="I looked",
        findings=[Finding(call=call, happened=False, then="run")],
        key="k",
    )
    results = racing.together(*[say] * 6)
    assert len(racing.won(results)) == 6, results
    assert Event.objects.filter(kind="unknown.continued").count() == 1
    world.settle()
    assert len(world.tools[w.SEND].ran) == 2


def test_a_resolution_and_what_comes_late_do_not_shut_each_other_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late fact changes nothing, so a coordinator who looked before it came is not told that somebody was first."""
    invocation, call = unknown(world)
    place = world.store.place

    def overtaken(which: UUID) -> ports.Place:
        found = place(which)
        monkeypatch.setattr(world.store, "place", place)
        late = events.LateResult(what="tool.completed", detail={"call": call})
        world.store.append(
            ports.Change(
                invocation=which,
                actor="agent:worker",
                at_ms=w.NOW,
                transitions={found.status: found.status},
                events=(late,),
            )
        )
        return found

    monkeypatch.setattr(world.store, "place", overtaken)
    resolutions.resolve(CARL, invocation, outcome="cancelled", reason="enough")
    assert world.status(invocation) == "cancelled"
    assert world.kinds(invocation).count("late.result") == 1


def test_a_resolution_and_a_retirement_do_not_both_find_it_unknown(world: World) -> None:
    for _ in range(4):
        invocation, _ = unknown(world)
        delivery = UUID(world.item(invocation).delivery_id)
        resolved, retired = racing.together(
            partial(resolutions.resolve, CARL, invocation, outcome="failed", reason="I give up"),
            partial(deliveries.retire, DORA, delivery, authorization="a"),
        )
        if isinstance(retired, errors.DeliveryBusy):
            assert world.status(invocation) == "failed"
        else:
            assert not isinstance(retired, Exception), retired
            assert not isinstance(resolved, Exception) or isinstance(resolved, errors.NotFound), resolved
            assert not Event.objects.filter(invocation=invocation).exists()


def test_a_coordinator_who_looked_before_the_other_resolved_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    invocation, call = unknown(world)
    resolving = Control._resolving
    did_not = [Finding(call=call, happened=False, then="run")]

    def overtaken(control: Control, *given: Any) -> Any:
        change = resolving(control, *given)
        monkeypatch.setattr(Control, "_resolving", resolving)
        resolutions.resolve(DORA, invocation, outcome="continue", reason="I looked", findings=did_not)
        return change

    monkeypatch.setattr(Control, "_resolving", overtaken)
    with pytest.raises(errors.StatusConflict) as refused:
        resolutions.resolve(CARL, invocation, outcome="failed", reason="I give up")
    assert refused.value.status == "running"
    assert [fact["by"] for fact in world.of_kind(invocation, "unknown.continued")] == [DORA.name]
