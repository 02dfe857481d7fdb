"""A native session that asks people without any tool: its question is one like every other."""

from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, expiry, inputs, work
from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.ports import InputAsked, Output, StructuredCompletion, TurnEnded
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import Act, NativeProvider, World, emitting

pytestmark = pytest.mark.django_db

ASKED: Final = InputAsked(
    call_id="n1", request_identity="which", prompt="Which colour?", response_schema={"type": "string"}
)
COMPLETION: Final = StructuredCompletion(result={"ok": True})


def install(world: World, *acts: Act) -> NativeProvider:
    provider = NativeProvider(acts)
    world.providers["chat-completions"] = provider
    return provider


def hearing(told: list[ports.TurnInput], *happened: ports.NativeEvent) -> Act:
    """Return how a session runs that remembers what it is told, and reports some events."""

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        told.append(turn)
        for event in happened:
            carrier.emit(event)

    return act


def asking(world: World, *acts: Act) -> UUID:
    """Return an invocation whose session asks; `acts` are its later turns."""
    install(world, emitting(Output(content="Well."), ASKED, TurnEnded()), *acts)
    return world.run()


def test_a_question_of_a_session_waits_for_people_and_holds_nothing(world: World) -> None:
    invocation = asking(world)
    assert world.status(invocation) == w.AWAITING
    question = world.input(invocation)
    assert (question.request_identity, question.prompt) == ("which", "Which colour?")
    assert world.disposition(invocation) == {"kind": "awaiting-input", "open": [question.id]}
    assert [lease.released for lease in world.leases] == [1]
    assert world.store.load(invocation).worker == ""
    kinds = world.kinds(invocation)
    assert kinds.index("output.produced") < kinds.index("input.requested")
    [call] = world.store.calls(invocation, 0)
    assert (call.call_id, call.tool, call.state) == ("n1", "workflow_request_input", "waiting")


def test_the_answer_is_handed_over_when_the_exact_session_is_resumed(world: World) -> None:
    told: list[ports.TurnInput] = []
    invocation = asking(world, hearing(told, COMPLETION))
    world.answer(world.input(invocation), "blue")
    world.settle()
    assert world.status(invocation) == "completed"
    answer = ports.ToolResult(
        call_id="n1", outcome="answered", content='{"content":"blue","kind":"ANSWER"}', ok=True
    )
    assert told == [ports.Resume(results=(answer,))]
    provider = world.providers["chat-completions"]
    assert isinstance(provider, NativeProvider)
    assert [session.opaque_identity for session in provider.restored] == ["native-1"]
    assert len(provider.opened) == 1


def test_a_session_may_ask_again_when_it_was_answered(world: World) -> None:
    told: list[ports.TurnInput] = []
    again = replace(ASKED, call_id="n2", prompt="Which shade?")
    invocation = asking(world, hearing(told, again), hearing(told, COMPLETION))
    for answer in ("blue", "dark"):
        world.answer(world.input(invocation), answer)
        world.settle()
    assert world.status(invocation) == "completed"
    assert isinstance(told[-1], ports.Resume)
    assert [result.call_id for result in told[-1].results] == ["n1", "n2"]
    assert [result.content for result in told[-1].results] == [
        '{"content":"blue","kind":"ANSWER"}',
        '{"content":"dark","kind":"ANSWER"}',
    ]


def test_declined_and_expired_questions_go_back_as_such(world: World) -> None:
    told: list[ports.TurnInput] = []
    declined = asking(world, hearing(told, COMPLETION))
    inputs.decline(w.ANN, UUID(world.input(declined).id), reason="no")
    world.settle()
    expired = asking(world, hearing(told, COMPLETION))
    world.clock.advance(world.services.timing.input_ms)
    assert expiry.sweep() == 1
    world.settle()
    outcomes = [turn.results[0].outcome for turn in told if isinstance(turn, ports.Resume)]
    assert outcomes == ["denied", "expired"]
    assert world.status(declined) == world.status(expired) == "completed"


def test_a_wrong_answer_leaves_the_question_open(world: World) -> None:
    invocation = asking(world)
    with pytest.raises(errors.SchemaInvalid):
        world.answer(world.input(invocation), 7)
    assert len(world.inputs(invocation)) == 1


@pytest.mark.parametrize("again", [ASKED, replace(ASKED, call_id="n2")])
def test_a_second_question_is_a_failure_of_the_protocol(world: World, again: InputAsked) -> None:
    install(world, emitting(ASKED, again))
    invocation = world.run()
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert [item.state for item in world.inputs(invocation, state=None)] == ["cancelled"]


@pytest.mark.parametrize("happened", [(COMPLETION, ASKED), (ASKED, COMPLETION)])
def test_a_completion_beside_a_question_is_invalid_and_closes_it(
    world: World, happened: tuple[ports.NativeEvent, ...]
) -> None:
    install(world, emitting(*happened))
    invocation = world.run()
    assert world.disposition(invocation)["code"] == "PENDING_INPUT_AT_COMPLETION"
    assert world.item(invocation).open_requests == []
    assert world.results(invocation)["n1"][0] == "cancelled"


def test_a_question_without_the_capability_fails_for_good_and_nobody_is_asked(world: World) -> None:
    world.apply("worker", capabilities='["structured-completion"]')
    install(world, emitting(ASKED))
    invocation = world.run()
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert world.disposition(invocation)["retry"] == "never"
    assert world.inputs(invocation, state=None) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"response_schema": {"type": "colour"}},
        {"response_schema": None},
        {"request_identity": ""},
        {"prompt": ""},
        {"prompt": "?" * 20_001},
        {"call_id": ""},
    ],
)
def test_a_question_that_nobody_can_answer_is_a_failure_of_the_protocol(
    world: World, wrong: dict[str, Any]
) -> None:
    install(world, emitting(replace(ASKED, **wrong)))
    invocation = world.run()
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert world.inputs(invocation, state=None) == []


def test_a_question_under_a_call_that_was_made_already_is_a_failure_of_the_protocol(world: World) -> None:
    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.call_tools([ports.ProposedCall(call_id="n1", tool="none", arguments={})])
        carrier.emit(ASKED)

    install(world, act)
    invocation = world.run()
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert "told from another" in world.disposition(invocation)["detail"]


def test_a_session_that_goes_on_after_its_question_gets_no_further_model_turn(world: World) -> None:
    asked: list[int] = []

    def perform(emit: Any) -> ports.ModelAnswer:
        asked.append(1)
        return ports.ModelAnswer(text="hm", reasoning="", calls=(), finish="stop", usage={})

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.call_model(perform)
        carrier.emit(ASKED)
        carrier.call_model(perform)

    told: list[ports.TurnInput] = []
    install(world, act, hearing(told, COMPLETION))
    invocation = world.run()
    assert (len(asked), world.status(invocation)) == (1, w.AWAITING)
    world.answer(world.input(invocation), "blue")
    world.settle()
    assert world.status(invocation) == "completed"
    assert isinstance(told[0], ports.Resume)
    assert [result.call_id for result in told[0].results] == ["n1"]


def test_a_secret_in_a_question_is_shown_to_nobody(world: World) -> None:
    install(world, emitting(replace(ASKED, prompt=f"Is {w.SECRET} right?")))
    invocation = world.run()
    assert world.input(invocation).prompt == "Is [REDACTED] right?"
    assert w.SECRET not in repr(world.events(invocation))


def test_cancelling_closes_a_question_of_a_session(world: World) -> None:
    invocation = asking(world)
    cancellations.cancel(w.BOB, invocation)
    assert world.status(invocation) == "cancelled"
    assert world.inputs(invocation) == []
    assert work.claimable(10) == []


def test_a_worker_that_dies_after_it_asked_leaves_the_question_open(world: World) -> None:
    told: list[ports.TurnInput] = []

    def die(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.emit(ASKED)
        carrier.emit(Output(content="."))
        world.clock.advance(1_000)
        carrier.emit(Output(content="."))  # It is committed now, with the question.
        raise w.Killed

    install(world, die, hearing(told, COMPLETION))
    invocation = world.start()
    world.kill(invocation)
    assert world.status(invocation) == w.RUNNING
    world.settle()
    assert world.status(invocation) == w.AWAITING
    world.answer(world.input(invocation), "blue")
    world.settle()
    assert world.status(invocation) == "completed"
