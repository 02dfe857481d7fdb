"""A command that is sent again under its key is carried out once, and answered every time."""

import threading
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connections

from lifecycle_core.application import approvals, cancellations, deliveries, inputs, invocations, queries
from lifecycle_core.application.reading import inputs as rows
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.journal.models import Decision, Invocation
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

WAIT: Final = 20


class Things:
    """An invocation that waits for an approval and an input, with its delivery."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.invocation = world.run(calls(call(w.SEND, "c1"), ask()), complete(), delivery="d1")
        self.approval = world.approval(self.invocation)
        self.input = UUID(world.input(self.invocation).id)
        [delivery] = queries.deliveries(w.ANN).items
        self.delivery = UUID(delivery.id)


@pytest.fixture
def things(world: World) -> Things:
    world.scripts["s"] = [complete()]
    return Things(world)


type Send = Callable[[Things, Actor, str | None, str], Any]


def start(t: Things, actor: Actor, key: str | None, body: str) -> Any:
    return invocations.start(
        actor, agent="worker", action=w.ACTION, input={"script": "s", "body": body}, key=key
    )


def decide(t: Things, actor: Actor, key: str | None, body: str) -> Any:
    return approvals.decide(
        actor,
        UUID(t.approval.id),
        decision="reject",
        request_digest=t.approval.request_digest,
        reason=body,
        key=key,
    )


COMMANDS: Final[dict[str, Send]] = {
    "start": start,
    "decide": decide,
    "answer": lambda t, a, key, body: inputs.answer(a, t.input, content=body, key=key),
    "decline": lambda t, a, key, body: inputs.decline(a, t.input, reason=body, key=key),
    "cancel": lambda t, a, key, body: cancellations.cancel(a, t.invocation, comment=body, key=key),
    "cancel delivery": lambda t, a, key, body: deliveries.cancel(a, t.delivery, comment=body, key=key),
    "retire": lambda t, a, key, body: deliveries.retire(a, t.delivery, authorization=body, key=key),
}
EACH: Final = pytest.mark.parametrize("name", COMMANDS)


def facts() -> list[tuple[Any, ...]]:
    """Return everything that commands change, in short."""
    return [
        *Invocation.objects.order_by("id").values_list("id", "status", "version"),
        *Decision.objects.order_by("approval").values_list("approval", "decision", "by"),
    ]


@EACH
def test_the_same_key_and_body_are_carried_out_once_and_answered_every_time(
    things: Things, name: str
) -> None:
    send = COMMANDS[name]
    first = send(things, w.ANN, "k1", "a")
    after = facts()
    assert send(things, w.ANN, "k1", "a") == first
    assert send(things, w.ANN, "k1", "a") == first
    assert facts() == after


@EACH
def test_the_same_key_with_another_body_is_refused_and_changes_nothing(things: Things, name: str) -> None:
    send = COMMANDS[name]
    send(things, w.ANN, "k1", "a")
    after = facts()
    with pytest.raises(errors.KeyReused):
        send(things, w.ANN, "k1", "b")
    assert facts() == after


def test_the_same_key_for_another_command_is_refused(things: Things) -> None:
    start(things, w.ANN, "k1", "a")
    for name in ("decide", "answer", "decline", "cancel", "cancel delivery", "retire"):
        with pytest.raises(errors.KeyReused):
            COMMANDS[name](things, w.ANN, "k1", "a")


def test_the_same_key_of_two_people_is_two_keys(things: Things) -> None:
    first = start(things, w.ANN, "k1", "a")
    second = start(things, w.actor("owner", name="user:bea"), "k1", "a")
    assert first.id != second.id


def test_without_a_key_every_start_is_a_start(things: Things) -> None:
    assert start(things, w.ANN, None, "a").id != start(things, w.ANN, None, "a").id


def test_an_answer_stays_the_same_although_the_invocation_went_on(things: Things) -> None:
    first = start(things, w.ANN, "k1", "a")
    things.world.drive(UUID(first.id))
    again = start(things, w.ANN, "k1", "a")
    assert (again.id, again.status) == (first.id, "completed")


def test_what_was_refused_is_not_remembered(things: Things) -> None:
    with pytest.raises(errors.SchemaInvalid):
        approvals.decide(
            w.ANN,
            UUID(things.approval.id),
            decision="edit",
            request_digest=things.approval.request_digest,
            arguments={"n": "x"},
            key="k1",
        )
    assert decide(things, w.ANN, "k1", "a").state == "rejected"


def test_after_retirement_a_key_of_what_is_gone_is_free_and_tells_nothing(things: Things) -> None:
    decide(things, w.ANN, "k1", "secret reason")
    things.world.settle()
    deliveries.retire(w.ANN, things.delivery, authorization="a1")
    assert start(things, w.ANN, "k1", "a").status == "starting"


# At the same time.


def at_once(send: Callable[[int], Any], number: int) -> list[Any]:
    """Send so many commands from as many threads, all at once; returns answers and refusals."""
    barrier = threading.Barrier(number)
    answers: list[Any] = [None] * number

    def one(index: int) -> None:
        barrier.wait(WAIT)
        try:
            answers[index] = send(index)
        except errors.Refused as refusal:
            answers[index] = refusal
        finally:
            connections.close_all()

    threads = [threading.Thread(target=one, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in threads)
    return answers


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["start", "decide", "answer", "cancel delivery", "retire"])
def test_one_key_sent_at_once_is_carried_out_once(things: Things, name: str) -> None:
    before = Invocation.objects.count()
    answers = at_once(lambda index: COMMANDS[name](things, w.ANN, "k1", "a"), 6)
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    assert len({answer.id for answer in answers}) == 1
    if name == "start":
        assert Invocation.objects.count() == before + 1


@pytest.mark.django_db(transaction=True)
def test_twenty_mixed_decisions_at_once_make_one_and_everybody_else_is_told(things: Things) -> None:
    def send(index: int) -> Any:
        return approvals.decide(
            w.actor("operator", name=f"user:{index}"),
            UUID(things.approval.id),
            decision="approve" if index % 2 else "reject",
            request_digest=things.approval.request_digest,
        )

    answers = at_once(send, 20)
    refusals = [answer for answer in answers if isinstance(answer, errors.AlreadyDecided)]
    [decided] = [answer for answer in answers if not isinstance(answer, Exception)]
    assert len(refusals) == 19
    [decision] = decided.decisions
    assert {(refusal.state, refusal.by, refusal.at_ms) for refusal in refusals} == {
        (decided.state, decision.by, decision.at)
    }
    assert things.world.kinds(things.invocation).count("approval.decided") == 1


@pytest.mark.django_db(transaction=True)
def test_one_person_who_clicks_often_decides_once(things: Things) -> None:
    answers = at_once(lambda index: decide(things, w.ANN, None, "no"), 8)
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    assert {answer.state for answer in answers} == {"rejected"}
    assert Decision.objects.count() == 1


def test_one_person_who_declines_twice_at_once_declines_once(
    things: Things, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = rows.row
    stale = [read(w.ANN, things.input)]
    inputs.decline(w.ANN, things.input)
    monkeypatch.setattr(rows, "row", lambda actor, input: stale.pop() if stale else read(actor, input))
    assert inputs.decline(w.ANN, things.input).state == "declined"
    assert things.world.kinds(things.invocation).count("input.declined") == 1


def test_an_answer_is_not_repeated_by_one_of_another_kind(things: Things) -> None:
    first = inputs.answer(w.ANN, things.input, content="a", kind="ACTION_FINISH_REQUESTED")
    assert inputs.answer(w.ANN, things.input, content="a", kind="ACTION_FINISH_REQUESTED") == first
    with pytest.raises(errors.AlreadyDecided):
        inputs.answer(w.ANN, things.input, content="a", kind="ANSWER")


@pytest.mark.parametrize("key", ["", " ", "a\0b", "é", "k" * 201, "a\n"])
def test_a_key_that_cannot_be_kept_is_refused(things: Things, key: str) -> None:
    with pytest.raises(errors.SchemaInvalid):
        inputs.decline(w.ANN, things.input, key=key)


@pytest.mark.django_db(transaction=True)
def test_answers_at_once_make_one(things: Things) -> None:
    answers = at_once(
        lambda index: inputs.answer(
            w.actor("operator", name=f"user:{index}"), things.input, content=str(index)
        ),
        10,
    )
    assert sum(isinstance(answer, errors.AlreadyDecided) for answer in answers) == 9
    things.world.decide(things.approval)
    things.world.settle()
    assert things.world.status(things.invocation) == "completed"
    assert len(things.world.seen) == 2


@pytest.mark.django_db(transaction=True)
def test_competing_retirements_make_one_tombstone(things: Things) -> None:
    answers = at_once(
        lambda index: deliveries.retire(w.ANN, things.delivery, authorization=f"a{index % 2}"), 6
    )
    refused = [answer for answer in answers if isinstance(answer, errors.RetirementNotAuthorized)]
    granted = [answer for answer in answers if not isinstance(answer, Exception)]
    assert (len(refused), len(granted)) == (3, 3)
    assert len({answer.authorization for answer in granted}) == 1


@pytest.mark.django_db(transaction=True)
def test_a_delivery_is_cancelled_while_its_invocations_are_decided(world: World) -> None:
    waiting = [world.run(calls(call(w.SEND, "c1")), complete(), delivery="d1") for _ in range(4)]
    asked = [world.approval(invocation) for invocation in waiting]
    [delivery] = queries.deliveries(w.ANN).items

    def send(index: int) -> Any:
        if index == 0:
            return deliveries.cancel(w.ANN, UUID(delivery.id), key="k1")
        return world.decide(asked[index - 1], by=w.BOB)

    answers = at_once(send, 5)
    told = (
        errors.AlreadyDecided,
        errors.StatusConflict,
    )  # who comes late is told of the decision or of the end
    assert [
        answer for answer in answers if isinstance(answer, Exception) and not isinstance(answer, told)
    ] == []
    assert {world.status(invocation) for invocation in waiting} == {"cancelled"}
