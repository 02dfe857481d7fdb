"""A model is asked again only where nothing of an answer came and the failure says that this may help."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, queries, work
from lifecycle_core.contract import ports
from lifecycle_core.contract.ports import ModelAnswer, ModelCallFailed
from lifecycle_core.engine.services import Timing
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, Pauses, World

pytestmark = pytest.mark.django_db

BUSY: Final = ModelCallFailed("SERVER", "the server answered 503", retryable=True)
DONE: Final = ModelAnswer(
    text="done",
    reasoning="",
    calls=(ports.ProposedCall(call_id="end", tool="workflow_complete", arguments={"result": {"ok": True}}),),
    finish="tool-calls",
    usage={"input": 10, "output": 1},
)

type Said = ModelAnswer | ModelCallFailed | Callable[[Callable[[str], None]], ModelAnswer]


@pytest.fixture
def timing() -> Timing:
    return Timing(model_pauses_ms=(1_000, 4_000))


def limited(wait_ms: int) -> ModelCallFailed:
    return ModelCallFailed("RATE_LIMIT", "slow down", retryable=True, retry_after_ms=wait_ms)


def answering(world: World, *said: Said) -> list[int]:
    """Install a session whose model says these things; returns how often it was asked so far."""
    asked: list[int] = []

    def perform(emit: Callable[[str], None]) -> ModelAnswer:
        asked.append(len(asked))
        answer = said[len(asked) - 1]
        if isinstance(answer, ModelCallFailed):
            raise answer
        return answer if isinstance(answer, ModelAnswer) else answer(emit)

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        try:
            carrier.call_tools(carrier.call_model(perform).calls)
        except ModelCallFailed as failure:
            carrier.emit(ports.ProviderFailed(code="PROVIDER_PROTOCOL_ERROR", detail=str(failure)))

    world.providers["chat-completions"] = NativeProvider([act])
    return asked


def run(world: World, *steps: Callable[[], object]) -> tuple[UUID, Pauses]:
    invocation, pauses = world.start(), Pauses(world, *steps)
    world.drive(invocation, interruption=pauses)
    return invocation, pauses


def attempts(world: World, invocation: UUID) -> list[tuple[str, Any, Any]]:
    """Return every fact about the model, with its turn and attempt."""
    return [
        (event.kind, event.payload["model_turn"], event.payload.get("attempt"))
        for event in world.events(invocation)
        if event.kind.startswith("model.")
    ]


def test_a_model_that_refuses_for_a_while_is_asked_again_and_each_attempt_is_a_fact(world: World) -> None:
    answering(world, BUSY, BUSY, DONE)
    invocation, pauses = run(world)
    assert world.status(invocation) == "completed"
    assert attempts(world, invocation) == [
        ("model.requested", 1, 1),
        ("model.failed", 1, 1),
        ("model.requested", 1, 2),
        ("model.failed", 1, 2),
        ("model.requested", 1, 3),
        ("model.responded", 1, None),
    ]
    assert world.of_kind(invocation, "model.failed")[0] == {
        "model_turn": 1,
        "attempt": 1,
        "code": "SERVER",
        "detail": "the server answered 503",
        "retry_after_ms": None,
        "retried": True,
    }
    first, second = pauses.waited
    assert 1 <= first <= 1.25
    assert 4 <= second <= 5


def test_it_is_asked_three_times_at_most_and_the_last_failure_stands(world: World) -> None:
    asked = answering(world, BUSY, BUSY, BUSY, DONE)
    invocation, pauses = run(world)
    assert (len(asked), len(pauses.waited)) == (3, 2)
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["detail"] == "SERVER: the server answered 503"
    failed = world.of_kind(invocation, "model.failed")
    assert [fact["retried"] for fact in failed] == [True, True, False]


@pytest.mark.parametrize("code", ["STREAM_CLOSED", "MALFORMED_RESPONSE", "TIMEOUT", "AUTH", "QUOTA"])
def test_what_does_not_say_that_it_may_help_is_not_asked_again(world: World, code: str) -> None:
    asked = answering(world, ModelCallFailed(code, "no"), DONE)
    invocation, pauses = run(world)
    assert (len(asked), pauses.waited) == (1, [])
    [failed] = world.of_kind(invocation, "model.failed")
    assert (failed["code"], failed["retried"]) == (code, False)
    assert world.status(invocation) == "failed"


def test_nothing_is_asked_again_once_a_word_of_the_answer_came(world: World) -> None:
    def half(emit: Callable[[str], None]) -> ModelAnswer:
        emit("I")
        raise BUSY

    asked = answering(world, half, DONE)
    invocation, _ = run(world)
    assert len(asked) == 1
    assert world.status(invocation) == "failed"


def test_the_wait_that_the_server_asks_for_is_kept(world: World) -> None:
    answering(world, limited(7_000), DONE)
    invocation, pauses = run(world)
    assert pauses.waited == [7]
    assert world.of_kind(invocation, "model.failed")[0]["retry_after_ms"] == 7_000


def test_a_wait_beyond_our_patience_is_a_failure_and_not_a_shorter_wait(world: World) -> None:
    patience = world.services.timing.model_patience_ms
    asked = answering(world, limited(patience + 1), DONE)
    invocation, pauses = run(world)
    assert (len(asked), pauses.waited, world.status(invocation)) == (1, [], "failed")
    asked = answering(world, limited(patience), DONE)
    invocation, _ = run(world)
    assert (len(asked), world.status(invocation)) == (2, "completed")


def test_no_attempt_is_made_for_which_the_turn_has_no_time(world: World) -> None:
    world.apply("worker", limits="{ seconds = 3 }")
    asked = answering(world, BUSY, BUSY, DONE)
    invocation, pauses = run(world)
    assert (len(asked), len(pauses.waited)) == (2, 1)
    assert world.disposition(invocation)["detail"].startswith("SERVER")


def test_the_budget_counts_turns_and_not_attempts(world: World) -> None:
    world.apply("worker", limits="{ model_turns = 1 }")
    answering(world, BUSY, BUSY, DONE)
    invocation, _ = run(world)
    assert world.status(invocation) == "completed"
    assert world.item(invocation).model_turns == 1
    assert world.item(invocation).tokens == 11


def test_a_cancel_ends_the_wait_before_the_next_attempt(world: World) -> None:
    asked = answering(world, BUSY, DONE)
    invocation = world.start()

    def cancel() -> None:
        cancellations.cancel(w.BOB, invocation)
        work.watch({invocation: pauses}, "w1", renew=True)

    pauses = Pauses(world, cancel)
    assert world.drive(invocation, interruption=pauses) == "cancelled"
    assert len(asked) == 1
    assert attempts(world, invocation) == [("model.requested", 1, 1), ("model.failed", 1, 1)]
    assert world.kinds(invocation)[-1] == "invocation.cancelled"


def test_the_time_limit_ends_the_wait_too(world: World) -> None:
    answering(world, BUSY, DONE)
    invocation = world.start()
    pauses = Pauses(world, lambda: pauses.interrupt("time-limit"))
    world.drive(invocation, interruption=pauses)
    assert world.disposition(invocation)["code"] == "PROVIDER_TIMED_OUT"


def test_a_failed_attempt_can_be_seen_while_the_next_is_waited_for(world: World) -> None:
    answering(world, BUSY, DONE)
    invocation = world.start()
    seen: list[Any] = []

    def look() -> None:
        seen.append(world.kinds(invocation)[-1])
        seen.append([row.state for row in queries.timeline(w.ANN, invocation) if row.kind == "model"])

    world.drive(invocation, interruption=Pauses(world, look))
    assert seen == ["model.failed", ["failed"]]
    assert [row.state for row in queries.timeline(w.ANN, invocation) if row.kind == "model"] == ["tool-calls"]


def test_a_turn_that_did_not_answer_is_asked_again_under_its_number(world: World) -> None:
    """A worker that dies between two attempts leaves a turn that has not happened."""
    answering(world, BUSY, DONE)
    invocation = world.start()

    def die() -> None:
        raise w.Killed

    with pytest.raises(w.Killed):
        world.drive(invocation, interruption=Pauses(world, die))
    world.die()
    world.settle()
    assert attempts(world, invocation)[2:] == [("model.requested", 1, 1), ("model.responded", 1, None)]
    assert world.status(invocation) == "completed"


def test_invocations_that_were_refused_together_do_not_come_back_together(world: World) -> None:
    waited = set()
    for _ in range(4):
        answering(world, BUSY, DONE)
        waited.add(run(world)[1].waited[0])
    assert len(waited) > 1


def test_a_secret_in_the_words_of_a_server_is_in_no_fact(world: World) -> None:
    answering(world, ModelCallFailed("SERVER", f"bad key {w.SECRET}", retryable=True), DONE)
    invocation, _ = run(world)
    [failed] = world.of_kind(invocation, "model.failed")
    assert failed["detail"] == "bad key [REDACTED]"


def test_without_pauses_nothing_is_asked_again(world: World) -> None:
    world.services = replace(world.services, timing=Timing(model_pauses_ms=()))
    asked = answering(world, BUSY, DONE)
    invocation, _ = run(world)
    assert (len(asked), world.status(invocation)) == (1, "failed")
