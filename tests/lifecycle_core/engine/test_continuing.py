"""A host continues with a complete response: it counts once, changes nothing, or burns the invocation."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, cast
from uuid import UUID, uuid4

import pytest
from django.db import connections

from lifecycle_core.application import continuing, hosting, inputs, queries, work
from lifecycle_core.application.resources import InvocationItem
from lifecycle_core.contract import digests, errors, events, identities, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.engine.inputs import Response
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

BURNT: Final = "INTERACTION_CORRELATION_INVALID"


def episode(world: World, invocation: UUID) -> dict[str, Json]:
    return cast("dict[str, Json]", queries.dispatch(w.ANN, invocation)["episode"])


def respond(world: World, invocation: UUID, content: Json = "blue", **changes: Any) -> InvocationItem:
    """Continue an invocation with what fits in all but the changes."""
    given: dict[str, Any] = {
        "episode": episode(world, invocation),
        "kind": "ANSWER",
        "request_identity": "q1",
        "content": content,
        "content_identity": digests.digest(content),
    }
    by = changes.pop("by", w.BOB)
    return continuing.continue_with_input(by, invocation, **{**given, **changes})


@pytest.fixture
def waiting(world: World) -> UUID:
    """Return an invocation that asks one question, and for one approval."""
    return world.run(calls(ask("q1", schema={"type": "string"}), call(w.SEND, "c1")), complete())


def restored(world: World, invocation: UUID) -> int:
    return world.kinds(invocation).count("session.restored")


def test_a_response_that_fits_is_answered_with_its_receipt_and_the_episode_goes_on(world: World) -> None:
    invocation = world.run(calls(ask("q1")), complete())
    assert respond(world, invocation).status == w.AWAITING
    world.settle()
    item = world.item(invocation)
    assert item.status == "completed"
    response = {
        "kind": "ANSWER",
        "requestIdentity": "q1",
        "content": "blue",
        "contentIdentity": digests.digest("blue"),
    }
    receipt = {
        "identity": identities.receipt(response),
        "requestIdentity": "q1",
        "responseIdentity": digests.digest("blue"),
    }
    assert item.disposition is not None
    assert item.disposition["interactionReceipts"] == [receipt]
    [question] = world.inputs(invocation, state="answered")
    assert (question.answered_by, question.receipt) == ("user:bob", receipt)
    assert world.last_results() == {"call_2_0": '{"content":"blue","kind":"ANSWER"}'}


def test_the_receipts_of_several_answers_stand_in_their_order(world: World) -> None:
    invocation = world.run(calls(ask("q1")), calls(ask("q2")), complete())
    respond(world, invocation)
    world.settle()
    world.answer(world.input(invocation), "hers")  # A person's answer has a receipt, too.
    world.settle()
    found = cast("list[dict[str, str]]", world.disposition(invocation)["interactionReceipts"])
    assert [receipt["requestIdentity"] for receipt in found] == ["q1", "q2"]
    assert len({receipt["identity"] for receipt in found}) == 2


def test_a_wish_to_finish_is_handed_over_as_it_is(world: World, waiting: UUID) -> None:
    respond(world, waiting, None, kind="ACTION_FINISH_REQUESTED")
    [answered] = world.of_kind(waiting, "input.answered")
    assert (answered["response_kind"], answered["content"]) == ("ACTION_FINISH_REQUESTED", None)


# What responds to something else changes nothing.


def _another(world: World, invocation: UUID) -> dict[str, Json]:
    return episode(world, world.run(calls(ask("q1"))))


def _attempt(world: World, invocation: UUID) -> dict[str, Json]:
    return episode(world, invocation) | {"attemptIdentity": "attempt.x"}


def _delivery(world: World, invocation: UUID) -> dict[str, Json]:
    mine = episode(world, invocation)
    thread = cast("dict[str, Json]", mine["thread"])
    delivery = cast("dict[str, Json]", thread["delivery"])
    stale = delivery | {"manifestBindingIdentity": digests.digest("stale")}
    return mine | {"thread": thread | {"delivery": stale}}


EPISODES: Final[dict[str, Any]] = {
    "another": _another,
    "attempt": _attempt,
    "delivery": _delivery,
    "nothing": lambda world, invocation: {},
}


@pytest.mark.parametrize("which", EPISODES)
def test_another_episode_is_a_mismatch_and_changes_nothing(world: World, waiting: UUID, which: str) -> None:
    other = EPISODES[which](world, waiting)
    before = world.item(waiting)
    with pytest.raises(errors.CorrelationMismatch):
        respond(world, waiting, episode=other)
    assert world.item(waiting) == before
    assert restored(world, waiting) == 0


def test_the_site_of_an_episode_does_not_count(world: World, waiting: UUID) -> None:
    elsewhere: Json = {"kind": "node", "nodeIdentity": "elsewhere"}
    respond(world, waiting, episode=episode(world, waiting) | {"site": elsewhere})
    assert world.inputs(waiting) == []


@pytest.mark.parametrize("identity", ["q0", "Q1", "q1 ", ""])
def test_another_request_is_a_mismatch_and_changes_nothing(
    world: World, waiting: UUID, identity: str
) -> None:
    before = world.item(waiting)
    with pytest.raises(errors.CorrelationMismatch):
        respond(world, waiting, 7, request_identity=identity, content_identity="wrong")
    assert world.item(waiting) == before


def test_what_does_not_wait_is_a_mismatch(world: World) -> None:
    for invocation in (world.start(complete()), world.run(complete()), world.run(calls(call(w.SEND)))):
        before = world.item(invocation)
        with pytest.raises(errors.CorrelationMismatch):
            respond(world, invocation)
        assert world.item(invocation) == before


def test_an_invocation_that_is_not_there_is_a_mismatch_for_the_engine_and_not_there_for_people(
    world: World,
) -> None:
    response = Response(kind="ANSWER", request_identity="q1", content=1, content_identity=digests.digest(1))
    with pytest.raises(errors.CorrelationMismatch):
        hosting.host().continue_with_input(uuid4(), {}, response, by="token:ci")
    with pytest.raises(errors.NotFound):
        continuing.continue_with_input(
            w.BOB,
            uuid4(),
            episode={},
            kind="ANSWER",
            request_identity="q1",
            content=1,
            content_identity=digests.digest(1),
        )


def test_an_answered_question_is_a_mismatch(world: World, waiting: UUID) -> None:
    respond(world, waiting)
    with pytest.raises(errors.CorrelationMismatch):
        respond(world, waiting)
    assert world.kinds(waiting).count("input.answered") == 1


def test_only_who_may_answer_may_continue(world: World, waiting: UUID) -> None:
    with pytest.raises(errors.Forbidden):
        respond(world, waiting, by=w.actor("viewer", name="user:eve"))
    assert len(world.inputs(waiting)) == 1


def test_a_question_whose_time_has_passed_is_not_burnt(world: World, waiting: UUID) -> None:
    world.clock.advance(world.services.timing.input_ms)
    with pytest.raises(errors.RequestExpired):
        respond(world, waiting)
    assert world.status(waiting) == w.AWAITING


# What responds to the question and is wrong burns the invocation.


@pytest.mark.parametrize(
    ("content", "changes"),
    [
        ("blue", {"content_identity": digests.digest("green")}),
        ("blue", {"content_identity": "sha256:"}),
        (7, {}),
        (None, {}),
        ({"content": "blue"}, {}),
    ],
)
def test_a_response_that_does_not_hold_together_or_fit_burns_the_invocation(
    world: World, waiting: UUID, content: Json, changes: dict[str, Any]
) -> None:
    commits = len(world.store.changes)
    item = respond(world, waiting, content, **changes)
    assert item.status == "invalid"
    assert item.disposition is not None
    assert (item.disposition["kind"], item.disposition["code"]) == ("invalid", BURNT)
    assert item.open_requests == []
    assert len(world.store.changes) == commits + 1, "everything is one transaction"
    assert {outcome for outcome, _ in world.results(waiting).values()} == {"cancelled"}
    assert restored(world, waiting) == 0
    assert work.claimable(10) == []
    assert world.tools[w.SEND].ran == []


def test_what_was_burnt_says_where_it_is_wrong_and_nothing_of_what_it_held(
    world: World, waiting: UUID
) -> None:
    respond(world, waiting, {"secret": "Xyzzy"})
    assert "Xyzzy" not in repr(world.events(waiting))
    assert world.disposition(waiting)["detail"] == "/: must be text"


def test_a_person_who_answers_on_the_page_never_burns(world: World, waiting: UUID) -> None:
    """The control: the same wrong answer, checked before it counts."""
    with pytest.raises(errors.SchemaInvalid):
        inputs.answer(w.BOB, UUID(world.input(waiting).id), content=7)
    assert world.status(waiting) == w.AWAITING
    with pytest.raises(errors.CorrelationMismatch):
        inputs.answer(
            w.BOB, UUID(world.input(waiting).id), content="blue", content_identity=digests.digest("green")
        )
    assert world.status(waiting) == w.AWAITING


def test_an_agent_s_secret_in_a_response_is_nowhere(world: World) -> None:
    invocation = world.run(calls(ask("q1")), complete())
    assert respond(world, invocation, f"use {w.SECRET}").status == "invalid"
    assert world.disposition(invocation)["detail"] == "the content holds the agent's own secret"
    assert w.SECRET not in repr(world.events(invocation))


# Together and repeatedly.


def test_a_decision_that_comes_between_does_not_keep_a_wrong_response_from_burning(
    world: World, waiting: UUID
) -> None:
    def decide_first(change: ports.Change) -> None:
        if any(isinstance(fact, events.InvocationInvalidated) for fact in change.events):
            world.store.before = lambda change: None
            world.decide(world.approval(waiting), "reject", by=w.ANN)

    world.store.before = decide_first
    assert respond(world, waiting, 7).status == "invalid"
    assert world.results(waiting)["c1"][0] == "denied"
    assert world.item(waiting).open_requests == []


@pytest.mark.parametrize("content", ["blue", 7])
def test_an_answer_that_comes_between_wins(world: World, waiting: UUID, content: Json) -> None:
    def answer_first(change: ports.Change) -> None:
        world.store.before = lambda change: None
        world.answer(world.input(waiting), "red")

    world.store.before = answer_first
    with pytest.raises(errors.CorrelationMismatch):
        respond(world, waiting, content)
    [answered] = world.of_kind(waiting, "input.answered")
    assert answered["content"] == "red"
    assert world.status(waiting) == w.AWAITING


@pytest.mark.django_db(transaction=True)
def test_of_responses_that_come_at_once_exactly_one_counts_and_the_turn_runs_once(world: World) -> None:
    invocation = world.run(calls(ask("q1")), complete())
    given = episode(world, invocation)
    ready = threading.Barrier(4)

    def send(content: str) -> str:
        try:
            ready.wait(10)
            respond(world, invocation, content, episode=given)
        except errors.CorrelationMismatch as refusal:
            return refusal.code
        finally:
            connections.close_all()
        return content

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(send, ["red", "green", "blue", "black"]))
    assert said.count("CORRELATION_MISMATCH") == 3
    [counted] = [content for content in said if content != "CORRELATION_MISMATCH"]
    world.settle()
    assert world.status(invocation) == "completed"
    assert [fact["content"] for fact in world.of_kind(invocation, "input.answered")] == [counted]
    assert len(world.seen) == 2


def test_a_response_under_a_key_is_carried_out_once(world: World, waiting: UUID) -> None:
    first = respond(world, waiting, key="k1")
    assert respond(world, waiting, key="k1") == first
    with pytest.raises(errors.KeyReused):
        respond(world, waiting, "green", key="k1")
    assert world.kinds(waiting).count("input.answered") == 1
