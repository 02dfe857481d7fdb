"""A turn that stays open for a while, so that a session that is costly to restore need not be."""

import threading
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connections

from lifecycle_core.application import cancellations, expiry, work
from lifecycle_core.contract import events, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.engine.interruption import Interruption
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, Pauses, World

pytestmark = pytest.mark.django_db

GRACE: Final = 10_000
WAIT: Final = 20


def proposed(id: str, tool: str = w.SEND, **arguments: Json) -> ports.ProposedCall:
    return ports.ProposedCall(call_id=id, tool=tool, arguments=arguments)


def question(id: str = "q", identity: str = "which") -> ports.ProposedCall:
    return proposed(id, "workflow_request_input", requestIdentity=identity, prompt="Which?")


class Told(list[list[ports.ToolResult]]):
    """What a session was told of its calls, batch by batch."""

    @property
    def last(self) -> dict[str, tuple[str, str]]:
        return {result.call_id: (result.outcome, result.content) for result in self[-1]}


def calling(
    world: World, *batches: list[ports.ProposedCall], grace_ms: int = GRACE
) -> tuple[NativeProvider, Told]:
    """Install a session that makes some calls, batch by batch, and completes when all have their results."""
    told = Told()

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        for batch in batches:
            told.append(carrier.call_tools(batch, grace_ms=grace_ms))
        carrier.emit(ports.StructuredCompletion(result={"ok": True}))

    def resumed(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        assert isinstance(turn, ports.Resume)
        told.append(list(turn.results))
        carrier.emit(ports.StructuredCompletion(result={"ok": True}))

    provider = NativeProvider([act, resumed])
    world.providers["chat-completions"] = provider
    return provider, told


def driven(world: World, *steps: Callable[[], object], invocation: UUID | None = None) -> tuple[UUID, Pauses]:
    started, pauses = invocation or world.start(), Pauses(world, *steps)
    world.drive(started, interruption=pauses)
    return started, pauses


def nothing() -> None:
    """Nobody does anything."""


def test_a_call_that_is_approved_in_time_runs_in_the_turn_that_asked(world: World) -> None:
    provider, told = calling(world, [proposed("c1", n=1), proposed("c2", w.LOOK)])
    invocation = world.start()
    driven(world, nothing, lambda: world.decide(world.approval(invocation)), invocation=invocation)
    assert world.status(invocation) == "completed"
    assert world.tools[w.SEND].arguments == [{"n": 1}]
    assert [result.call_id for result in told[-1]] == ["c1", "c2"]
    assert (len(provider.opened), provider.restored) == (1, [])
    kinds = world.kinds(invocation)
    assert ("turn.suspended" in kinds, "invocation.resumed" in kinds) == (False, False)
    assert [lease.released for lease in world.leases] == [1]


def test_what_was_asked_can_be_seen_and_decided_while_the_turn_is_open(world: World) -> None:
    calling(world, [proposed("c1")])
    invocation = world.start()
    seen: list[Any] = []

    def look() -> None:
        seen.append((world.status(invocation), len(world.approvals(invocation)), work.claimable(10)))
        world.decide(world.approval(invocation), "reject", reason="no")

    driven(world, look, invocation=invocation)
    assert seen == [(w.RUNNING, 1, [])]
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["c1"][0] == "denied"
    assert world.tools[w.SEND].ran == []


@pytest.mark.parametrize(
    ("decision", "given", "outcome"),
    [
        ("approve", {}, "executed"),
        ("edit", {"arguments": {"n": 7}}, "edited"),
        ("reject", {}, "denied"),
        ("respond", {"result": "by hand"}, "answered"),
    ],
)
def test_every_decision_counts_as_it_does_after_a_suspension(
    world: World, decision: str, given: dict[str, Any], outcome: str
) -> None:
    _, told = calling(world, [proposed("c1", n=1)])
    invocation = world.start()
    driven(world, lambda: world.decide(world.approval(invocation), decision, **given), invocation=invocation)
    assert told.last["c1"][0] == outcome
    assert world.results(invocation)["c1"][0] == outcome


def test_each_decided_call_runs_when_it_is_decided(world: World) -> None:
    calling(world, [proposed("c1", n=1), proposed("c2", n=2)])
    invocation = world.start()
    seen: list[Any] = []

    def decide_first() -> None:
        world.decide(world.approvals(invocation)[0])

    def look() -> None:
        seen.append((len(world.tools[w.SEND].ran), list(world.results(invocation))))
        world.decide(world.approval(invocation))

    driven(world, decide_first, look, invocation=invocation)
    assert seen == [(1, ["c1"])], "its outcome is a fact before anybody waits on"
    assert world.tools[w.SEND].arguments == [{"n": 1}, {"n": 2}]
    assert world.status(invocation) == "completed"


def test_an_answer_in_time_is_a_result_and_the_next_question_is_none_beside_it(world: World) -> None:
    _, told = calling(world, [question("q1", "which")], [question("q2", "whose")])
    invocation = world.start()
    driven(
        world,
        lambda: world.answer(world.input(invocation), "blue"),
        lambda: world.answer(world.input(invocation), "hers"),
        invocation=invocation,
    )
    assert [batch[0].content for batch in told] == [
        '{"content":"blue","kind":"ANSWER"}',
        '{"content":"hers","kind":"ANSWER"}',
    ]
    assert world.status(invocation) == "completed"


def test_a_turn_is_suspended_when_its_grace_is_over_and_goes_on_as_ever(world: World) -> None:
    provider, told = calling(world, [proposed("c1")])
    invocation, pauses = driven(world)
    assert world.status(invocation) == w.AWAITING
    assert (max(pauses.waited), round(sum(pauses.waited))) == (0.2, GRACE // 1000)
    assert world.disposition(invocation)["open"] == [world.approval(invocation).id]
    assert provider.opened[0].disposed == 1
    assert [lease.released for lease in world.leases] == [1]
    world.decide(world.approval(invocation))
    world.settle()
    assert (world.status(invocation), told.last["c1"][0]) == ("completed", "executed")
    assert len(provider.restored) == 1


def test_without_a_grace_everything_is_one_commit_and_nobody_waits(world: World) -> None:
    calling(world, [proposed("c1")], grace_ms=0)
    _, pauses = driven(world)
    assert pauses.waited == []
    kinds = [fact.kind for fact in world.store.changes[-1].events]
    assert kinds == ["session.opened", "tool.requested", "approval.requested", "turn.suspended"]


def test_a_turn_with_little_time_left_is_suspended_before_it_fails(world: World) -> None:
    world.apply("worker", limits="{ seconds = 2 }")
    calling(world, [proposed("c1")])
    invocation, pauses = driven(world)
    assert world.status(invocation) == w.AWAITING
    assert sum(pauses.waited) < 2


@pytest.mark.parametrize("lost", ["cancelled", "lease-lost"])
def test_whoever_may_no_longer_drive_it_stops_waiting(world: World, lost: Any) -> None:
    provider, told = calling(world, [proposed("c1")])
    invocation = world.start()
    pauses = Pauses(world)

    def lose() -> None:
        if lost == "cancelled":
            cancellations.cancel(w.BOB, invocation)
            work.watch({invocation: pauses}, "w1", renew=True)
        else:
            pauses.interrupt(lost)

    pauses._steps = [nothing, lose]
    world.drive(invocation, interruption=pauses)
    assert (pauses.reason, len(pauses.waited), told) == (lost, 2, [])
    assert world.status(invocation) == ("cancelled" if lost == "cancelled" else w.RUNNING)
    assert provider.opened[0].disposed == 1
    assert [lease.released for lease in world.leases] == [1]
    assert "turn.suspended" not in world.kinds(invocation)


def test_the_time_limit_ends_a_wait_as_it_ends_everything(world: World) -> None:
    calling(world, [proposed("c1")])
    invocation = world.start()
    pauses = Pauses(world, nothing, lambda: pauses.interrupt("time-limit"))
    world.drive(invocation, interruption=pauses)
    assert world.disposition(invocation)["code"] == "PROVIDER_TIMED_OUT"
    assert world.results(invocation)["c1"][0] == "cancelled"


def test_what_expires_meanwhile_is_a_result(world: World) -> None:
    _, told = calling(world, [proposed("c1")])
    invocation = world.start()

    def pass_by() -> None:
        world.clock.now += world.services.timing.approval_ms
        assert expiry.sweep() == 1

    driven(world, pass_by, invocation=invocation)
    assert told.last["c1"][0] == "expired"


def test_a_call_whose_target_changed_is_asked_about_again_in_the_same_turn(world: World) -> None:
    calling(world, [proposed("c1", w.PUT, n=1)])
    invocation = world.start()

    def change_and_approve() -> None:
        world.decide(world.approval(invocation))
        world.tools[w.PUT].state = "another"

    driven(
        world,
        change_and_approve,
        lambda: world.decide(world.approval(invocation)),
        invocation=invocation,
    )
    assert world.status(invocation) == "completed"
    assert [item.state for item in world.approvals(invocation, state=None)] == ["superseded", "approved"]


def test_a_completion_beside_a_question_is_not_waited_for(world: World) -> None:
    done = proposed("end", "workflow_complete", result={"ok": True})
    calling(world, [proposed("c1"), done])
    invocation, pauses = driven(world)
    assert pauses.waited == []
    assert world.disposition(invocation)["code"] == "PENDING_INPUT_AT_COMPLETION"


def test_two_questions_are_a_failure_at_once(world: World) -> None:
    calling(world, [question("q1", "which"), question("q2", "whose")])
    invocation, pauses = driven(world)
    assert pauses.waited == []
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"


def test_a_question_without_the_capability_is_a_failure_at_once(world: World) -> None:
    world.apply("worker", capabilities='["structured-completion"]')
    calling(world, [question()])
    invocation, pauses = driven(world)
    assert pauses.waited == []
    assert world.disposition(invocation)["retry"] == "never"


def test_a_worker_that_dies_while_it_waits_leaves_what_was_asked(world: World) -> None:
    _, told = calling(world, [proposed("c1")])
    invocation = world.start()

    def die() -> None:
        raise w.Killed

    with pytest.raises(w.Killed):
        world.drive(invocation, interruption=Pauses(world, die))
    world.decide(world.approval(invocation))
    world.die()
    world.settle()
    assert world.status(invocation) == "completed"
    assert told.last["c1"][0] == "executed"
    assert len(world.tools[w.SEND].ran) == 1


def test_a_call_whose_outcome_is_unknown_ends_the_wait(world: World) -> None:
    calling(world, [proposed("c1")])
    invocation = world.start()

    def lose(arguments: Any, context: Any) -> Any:
        raise ports.OutcomeUnknown("the line went dead")

    world.tools[w.SEND].act = lose
    driven(world, lambda: world.decide(world.approval(invocation)), invocation=invocation)
    assert world.status(invocation) == "unknown"


@pytest.mark.django_db(transaction=True)
def test_a_decision_from_another_connection_reaches_the_turn_that_waits(world: World) -> None:
    """With real waiting, in two threads: the worker's and that of whoever decides."""
    provider, told = calling(world, [proposed("c1")])
    invocation, asked = world.start(), threading.Event()

    def notice(change: ports.Change) -> None:
        if any(isinstance(fact, events.ApprovalRequested) for fact in change.events):
            asked.set()

    def drive() -> None:
        try:
            work.drive(invocation, "w1", Interruption())
        finally:
            connections.close_all()

    world.store.after = notice
    worker = threading.Thread(target=drive)
    worker.start()
    assert asked.wait(WAIT)
    world.decide(world.approval(invocation))
    worker.join(WAIT)
    assert not worker.is_alive()
    assert world.status(invocation) == "completed"
    assert (told.last["c1"][0], provider.restored) == ("executed", [])


# The wait itself.


def test_a_wait_ends_at_once_when_the_turn_must_stop() -> None:
    interruption = Interruption()
    assert interruption.wait(0) is False
    interruption.interrupt("cancelled")
    assert interruption.wait(3600) is True
