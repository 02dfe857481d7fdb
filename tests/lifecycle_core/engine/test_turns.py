"""What a turn costs and leaves: two commits for a call and four for one that people decide, frames of output, kept messages."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from lifecycle_core.application import cancellations, expiry
from lifecycle_core.contract import ports
from lifecycle_core.testing.answers import Answer
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

# Commits.


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count the transactions that are committed on this thread's connection."""
    counted: list[int] = []
    commit = connection.commit

    def counting() -> None:
        counted.append(1)
        commit()

    monkeypatch.setattr(connection, "commit", counting)
    return iter([counted])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [1, 5])
def test_a_call_that_needs_nobody_costs_two_commits(
    world: World, commits: Iterator[list[int]], number: int
) -> None:
    [counted] = commits
    base = world.start(complete())
    few = world.start(*[calls(call(w.LOOK, n=n)) for n in range(number)], complete())
    counted.clear()
    world.drive(base)
    without = len(counted)
    counted.clear()
    world.drive(few)
    assert world.status(few) == "completed"
    assert len(counted) - without == 2 * number


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [1, 4])
def test_a_call_that_people_decide_costs_four_commits(
    world: World, commits: Iterator[list[int]], number: int
) -> None:
    [counted] = commits
    base = world.start(complete())
    few = world.start(*[calls(call(w.SEND, n=n)) for n in range(number)], complete())
    counted.clear()
    world.drive(base)
    without = len(counted)
    counted.clear()
    world.drive(few)
    for _ in range(number):
        world.decide(world.approval(few))
        world.drive(few)
    assert world.status(few) == "completed"
    assert len(counted) - without == 4 * number


@pytest.mark.django_db(transaction=True)
def test_every_commit_is_told_once_and_after_it(world: World) -> None:
    invocation = world.run(calls(call(w.SEND)), complete())
    world.decide(world.approval(invocation))
    world.settle()
    heads = [event.position for event in world.events(invocation)]
    assert len(world.hints) == len(world.store.changes) + 1
    assert world.hints == sorted(set(world.hints))
    assert set(world.hints) <= set(heads)
    assert world.hints[-1] == heads[-1]


def test_the_facts_of_a_gated_call_are_committed_together_as_the_design_says(world: World) -> None:
    invocation = world.run(calls(call(w.SEND, "c1")), complete())
    world.decide(world.approval(invocation))
    world.settle()
    together = [[fact.kind for fact in change.events] for change in world.store.changes]
    assert together[1:] == [
        ["session.opened", "model.requested"],
        ["model.responded", "tool.requested", "approval.requested", "turn.suspended"],
        ["approval.decided"],
        ["invocation.resumed", "tool.intended"],
        ["tool.completed", "session.restored", "model.requested"],
        ["model.responded", "tool.requested", "tool.completed", "invocation.completed"],
    ]


def test_nothing_is_dispatched_before_its_intent_is_committed(world: World) -> None:
    seen: list[list[str]] = []
    world.tools[w.LOOK].act = lambda arguments, context: seen.append(world.kinds(invocation))
    invocation = world.start(calls(call(w.LOOK)), complete())
    world.drive(invocation)
    assert seen[0][-1] == "tool.intended"


# Output.


def speaking(world: World, pieces: list[tuple[int, str]]) -> Any:
    """Return how a model speaks: each piece after so many milliseconds."""

    def act(session: Any, turn: Any, carrier: ports.Carrier) -> None:
        def perform(emit: Any) -> ports.ModelAnswer:
            for pause, text in pieces:
                world.clock.advance(pause)
                emit(text)
            said = "".join(text for _, text in pieces)
            return ports.ModelAnswer(text=said, reasoning="", calls=(), finish="stop", usage={})

        carrier.call_model(perform)
        carrier.emit(ports.StructuredCompletion(result={"ok": True}))

    return act


def frames(world: World, pieces: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the frames that are committed, with their times since the start."""
    world.providers["chat-completions"] = NativeProvider([speaking(world, pieces)])
    begun = world.clock.now
    invocation = world.run()
    assert world.status(invocation) == "completed"
    return [
        (event.at - begun, str(event.payload["content"]))
        for event in world.events(invocation)
        if event.kind == "output.produced"
    ]


def test_a_streaming_model_is_folded_into_four_frames_a_second(world: World) -> None:
    pieces = [(10, f"{n} ") for n in range(300)]  # three seconds
    found = frames(world, pieces)
    assert len(found) == 12
    times = [at for at, _ in found]
    assert all(later - earlier >= 250 for earlier, later in itertools.pairwise(times))
    assert "".join(text for _, text in found) == "".join(text for _, text in pieces)


def test_a_slow_model_is_shown_as_it_speaks(world: World) -> None:
    assert frames(world, [(1000, "a"), (1000, "b"), (250, "!")]) == [(1000, "a"), (2000, "b"), (2250, "!")]


def test_a_fast_answer_needs_no_frame_for_the_answer_holds_it(world: World) -> None:
    assert frames(world, [(0, "all "), (100, "at "), (100, "once")]) == []


def test_frames_are_numbered_over_the_whole_invocation(world: World) -> None:
    act = speaking(world, [(300, "a"), (300, "b")])

    def twice(session: Any, turn: Any, carrier: ports.Carrier) -> None:
        for _ in range(2):
            carrier.call_model(lambda emit: _say(world, emit))
        carrier.call_tools([ports.ProposedCall(call_id="c", tool=w.SEND, arguments={})])

    world.providers["chat-completions"] = NativeProvider([twice, act])
    invocation = world.run()
    world.decide(world.approval(invocation))
    world.settle()
    assert [p["sequence"] for p in world.of_kind(invocation, "output.produced")] == [1, 2, 3, 4]
    assert [p["model_turn"] for p in world.of_kind(invocation, "output.produced")] == [1, 2, 3, 3]


def _say(world: World, emit: Any) -> ports.ModelAnswer:
    world.clock.advance(300)
    emit("words")
    return ports.ModelAnswer(text="words", reasoning="", calls=(), finish="stop", usage={})


def test_a_secret_that_is_split_over_pieces_is_in_no_frame(world: World) -> None:
    half = len(w.SECRET) // 2
    found = frames(
        world, [(300, "key: " + w.SECRET[:half]), (300, w.SECRET[half:] + " is"), (300, " mine"), (300, ".")]
    )
    text = "".join(text for _, text in found)
    assert w.SECRET not in text
    assert w.SECRET[:half] not in text
    assert "[REDACTED]" in text
    assert text.endswith(" is mine.")


def test_what_a_failed_model_call_had_said_is_not_shown_later(world: World) -> None:
    def act(session: Any, turn: Any, carrier: ports.Carrier) -> None:
        def perform(emit: Any) -> ports.ModelAnswer:
            emit("half a sen")
            raise ports.ModelCallFailed("STREAM_CLOSED", "cut")

        with pytest.raises(ports.ModelCallFailed):
            carrier.call_model(perform)
        carrier.emit(ports.Output(content="I could not finish."))

    world.providers["chat-completions"] = NativeProvider([act])
    invocation = world.run()
    assert [p["content"] for p in world.of_kind(invocation, "output.produced")] == ["I could not finish."]


# Messages.


def test_a_session_only_grows_and_is_restored_byte_for_byte(world: World) -> None:
    invocation = world.run(
        calls(call(w.SEND, "a", to="\u00e9\u0301"), ask(), text="I ask \u202e\U0001f600 first."),
        calls(call(w.LOOK, "b"), call(w.SEND, "c")),
        complete(),
    )
    record = world.store.load(invocation)
    kept = [world.store.messages(w.TENANT, record.affinity)]
    while world.status(invocation) == w.AWAITING:
        for approval in world.approvals(invocation):
            world.decide(approval)
            world.settle()
            kept.append(world.store.messages(w.TENANT, record.affinity))
        for question in world.inputs(invocation):
            world.answer(question, "blue")
            world.settle()
            kept.append(world.store.messages(w.TENANT, record.affinity))
    assert world.status(invocation) == "completed"
    for earlier, later in itertools.pairwise(kept):
        assert later[: len(earlier)] == earlier
    for asked in world.seen:
        assert tuple(asked) == kept[-1][: len(asked)]
    assert [len(asked) for asked in world.seen] == [2, 5, 8]
    w.assert_paired(world.seen[-1])


@pytest.mark.parametrize("ending", ["reject", "expire", "respond"])
@pytest.mark.parametrize("number", [1, 3])
def test_every_call_has_one_result_in_the_history_however_it_ended(
    world: World, ending: str, number: int
) -> None:
    made = [call(w.SEND, f"c{n}") for n in range(number)]
    invocation = world.run(calls(*made, call(w.LOOK, "auto")), complete())
    for approval in world.approvals(invocation):
        if ending == "reject":
            world.decide(approval, "reject", reason="no")
        elif ending == "respond":
            world.decide(approval, "respond", result="by hand")
    if ending == "expire":
        world.clock.advance(world.services.timing.approval_ms)
        assert expiry.sweep() == number
    world.settle()
    assert world.status(invocation) == "completed"
    w.assert_paired(world.seen[-1])
    assert set(world.last_results()) == {f"c{n}" for n in range(number)} | {"auto"}


def test_a_shared_session_that_a_cancelled_episode_left_open_is_whole_again(world: World) -> None:
    world.apply("worker", session='{ scope = "data-bound", isolation = "shared", source = "customer" }')
    given: dict[str, Any] = {"input": {"customer": 7}, "delivery": "d1"}
    first = world.run(calls(call(w.SEND, "a"), call(w.SEND, "b")), **given)
    cancellations.cancel(w.ANN, first)
    second = world.run(complete(), **given)
    assert world.status(second) == "completed"
    w.assert_paired(world.seen[-1])
    said = [json.loads(message) for message in world.seen[-1]]
    assert [message["role"] for message in said] == ["system", "user", "assistant", "tool", "tool", "user"]


def test_a_large_result_is_told_whole_and_the_chat_restored_with_it(world: World) -> None:
    text = "\u00e9" * 200_000
    world.tools[w.LOOK].act = lambda arguments, context: {"text": text}
    invocation = world.run(calls(call(w.LOOK, "big")), calls(call(w.SEND, "c")), complete())
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == "completed"
    assert json.loads(world.last_results()["big"]) == {"text": text}
    assert world.results(invocation)["big"] == ("executed", {"text": text})


def test_the_first_turn_gets_instructions_purpose_and_input(world: World) -> None:
    world.run(complete(), input={"n": 7})
    said = [json.loads(message) for message in world.seen[0]]
    assert said[0] == {"role": "system", "content": "Work."}
    assert said[1]["content"].startswith("Do it")
    assert json.loads(said[1]["content"].rsplit("\n", 1)[-1])["n"] == 7


def test_a_model_that_only_talks_ends_without_a_disposition(world: World) -> None:
    invocation = world.run(Answer(text="All done!"))
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "TURN_ENDED_WITHOUT_DISPOSITION"
