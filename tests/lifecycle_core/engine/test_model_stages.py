"""Plugins around a model turn, and around what has a beginning and an end."""

import json
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, queries
from lifecycle_core.contract import errors, stages
from lifecycle_core.contract.frozen import draft
from lifecycle_core.contract.plugins import Plugin, Verdict
from lifecycle_core.contract.ports import ModelAnswer
from lifecycle_core.contract.subjects import Admission, ModelCall, ModelOutcome, Moment
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, call, calls, complete
from tests.lifecycle_core.seated import gate, interceptor, observer, transformer

pytestmark = pytest.mark.django_db

CALL, RESPONSE, STREAM = stages.MODEL_CALL, stages.MODEL_RESPONSE, stages.MODEL_STREAM


def broken(*given: Any) -> Any:
    raise RuntimeError("out of order")


def told(world: World, turn: int = 0) -> list[dict[str, Any]]:
    """Return what the model was told in a turn."""
    return [json.loads(message) for message in world.seen[turn]]


def adding(text: str) -> Any:
    """Return what puts a text in the place of the instructions."""

    def transform(call: ModelCall) -> ModelCall:
        return call.changed(messages=[{"role": "system", "content": text}, *draft(call.messages)[1:]])

    return transform


# What the model is told.


@pytest.mark.parametrize("stage", [stages.CONTEXT_PREPARE, CALL])
def test_a_transformer_changes_what_the_model_is_told_this_once(world: World, stage: str) -> None:
    first = iter([adding("Be brief.")])
    world.plugins.append(transformer(lambda call: next(first, lambda call: None)(call), stage=stage))
    invocation = world.run(calls(call(w.LOOK, "a")), complete())
    assert world.status(invocation) == "completed"
    assert told(world, 0)[0] == {"role": "system", "content": "Be brief."}
    assert "Be brief." not in str(told(world, 1))


def test_what_is_told_is_what_the_plugins_see(world: World) -> None:
    seen: list[ModelCall] = []
    world.plugins.append(transformer(seen.append, stage=CALL))
    world.run(complete())
    assert draft(seen[0].messages) == told(world)
    assert (seen[0].identity.step, seen[0].identity.model_turn) == (1, 1)


UNTELLABLE: Final[dict[str, Any]] = {
    "no messages": lambda call: call.changed(messages=[]),
    "no list": lambda call: call.changed(messages="Be brief."),
    "no messages but texts": lambda call: call.changed(messages=["Be brief."]),
    "no JSON": lambda call: call.changed(messages=[{"role": "user", "content": float("nan")}]),
    "a secret": adding(w.SECRET),
    "another model": lambda call: call.changed(model="dearer"),
    "an exception": broken,
}


@pytest.mark.parametrize("act", UNTELLABLE.values(), ids=UNTELLABLE.keys())
def test_a_turn_whose_messages_cannot_be_told_fails_before_the_model_is_asked(world: World, act: Any) -> None:
    world.plugins.append(transformer(act, stage=CALL))
    invocation = world.run(complete())
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "EXTENSION_FAILED"
    assert world.seen == []
    assert w.SECRET not in str(world.events(invocation))


@pytest.mark.parametrize("outcome", ["refuse", "ask"])
def test_a_gate_keeps_a_model_from_being_asked_and_asking_people_is_refusing(
    world: World, outcome: Any
) -> None:
    world.plugins.append(
        gate(lambda call: Verdict(outcome=outcome, rule="budget", reason="spent"), stage=CALL)
    )
    invocation = world.run(complete())
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("MODEL_CALL_REFUSED", "never")
    assert "budget: spent" in disposition["detail"]
    assert world.seen == []
    assert "model.requested" not in world.kinds(invocation)


# What it answers.


def test_an_interceptor_may_ask_again_and_each_time_is_an_attempt(world: World) -> None:
    def twice(call: ModelCall, proceed: Any) -> Any:
        proceed()
        return proceed()

    world.plugins.append(interceptor(twice, stage=CALL))
    invocation = world.run(complete())
    assert world.status(invocation) == "completed"
    assert [fact["attempt"] for fact in world.of_kind(invocation, "model.requested")] == [1, 2]
    assert [fact["code"] for fact in world.of_kind(invocation, "model.failed")] == ["REPEATED"]
    [responded] = world.of_kind(invocation, "model.responded")
    assert responded["model_turn"] == 1
    assert len(world.seen) == 2
    assert responded["by"] == ""


def test_an_interceptor_may_answer_in_the_place_of_the_model(world: World) -> None:
    world.plugins.append(interceptor(lambda call, proceed: call.answered("No."), "mute", CALL))
    invocation = world.run(complete())
    [responded] = world.of_kind(invocation, "model.responded")
    assert (responded["text"], responded["calls"], responded["by"]) == ("No.", [], "built-in/mute")
    assert world.seen == []
    assert world.disposition(invocation)["code"] == "TURN_ENDED_WITHOUT_DISPOSITION"


def test_a_transformer_of_answers_changes_their_text_and_nothing_else(world: World) -> None:
    world.plugins.append(transformer(lambda outcome: outcome.changed(text="polished"), "polish", RESPONSE))
    invocation = world.run(calls(call(w.LOOK, "a"), text="raw"), complete())
    assert world.of_kind(invocation, "model.responded")[0]["text"] == "polished"
    assert told(world, 1)[2]["content"] == "polished"
    assert len(world.tools[w.LOOK].ran) == 1


@pytest.mark.parametrize("field", [{"calls": ()}, {"usage": {}}, {"model": "x"}, {"by": "x"}], ids=str)
def test_what_a_model_called_and_used_cannot_be_changed(world: World, field: dict[str, Any]) -> None:
    def forge(outcome: ModelOutcome) -> ModelOutcome:
        return outcome.changed(**field)

    world.plugins.append(transformer(forge, stage=RESPONSE))
    invocation = world.run(calls(call(w.LOOK, "a")), complete())
    assert world.disposition(invocation)["code"] == "EXTENSION_FAILED"
    assert world.tools[w.LOOK].ran == []


def test_an_answer_that_plugins_fail_over_is_an_attempt_that_failed(world: World) -> None:
    world.plugins.append(transformer(broken, stage=RESPONSE))
    invocation = world.run(complete())
    [failed] = world.of_kind(invocation, "model.failed")
    assert (failed["attempt"], failed["code"], failed["retried"]) == (1, "EXTENSION_FAILED", False)
    assert "model.responded" not in world.kinds(invocation)


# What it says meanwhile.


class Saying:
    """A session whose model says some words, one after the other."""

    opaque_identity = "s-1"

    def __init__(self, world: World, *words: str) -> None:
        self._world, self._words = world, words

    def run(self, turn: Any, carrier: Any, material: Any) -> None:
        def perform(emit: Any) -> ModelAnswer:
            for word in self._words:
                self._world.clock.advance(self._world.services.timing.output_interval_ms)
                emit(word)
            return ModelAnswer(text="", reasoning="", calls=(), finish="stop", usage={})

        carrier.call_model(perform)

    def cancel(self) -> None: ...

    def dispose(self) -> None: ...


class Says:
    """Provide that session."""

    key = "chat-completions"

    def __init__(self, *given: Any) -> None:
        self._session = Saying(*given)

    def open(self, request: Any) -> Any:
        return self._session

    restore = open

    def dispose(self) -> None: ...


def said(world: World, *plugins: Plugin) -> tuple[UUID, list[str]]:
    world.plugins += plugins
    world.providers["chat-completions"] = Says(world, "one ", "two ", "three ")
    invocation = world.run(complete())
    return invocation, [fact["content"] for fact in world.of_kind(invocation, "output.produced")]


def test_what_is_streamed_is_rewritten_or_dropped_in_order(world: World) -> None:
    def shout(chunk: Any) -> Any:
        return chunk.changed(text="" if "two" in chunk.text else chunk.text.upper())

    assert said(world, transformer(shout, stage=STREAM))[1] == ["ONE ", "THREE "]


def test_without_plugins_everything_is_shown(world: World) -> None:
    assert said(world)[1] == ["one ", "two ", "three "]


def test_nothing_is_shown_after_a_plugin_failed_over_it_and_the_turn_fails(world: World) -> None:
    invocation, frames = said(
        world, transformer(lambda chunk: broken() if "two" in chunk.text else None, stage=STREAM)
    )
    assert frames == ["one "]
    assert world.disposition(invocation)["code"] == "EXTENSION_FAILED"


def test_a_provider_that_shows_no_conversation_runs_under_no_plugin_that_would_change_it(
    world: World,
) -> None:
    invocation, frames = said(world, transformer(lambda call: None, stage=CALL))
    assert frames == []
    assert world.disposition(invocation)["code"] == "EXTENSION_FAILED"


# Whether it may be started at all.


@pytest.mark.parametrize("outcome", ["refuse", "ask"])
def test_a_gate_refuses_a_start_before_anything_is_stored_and_asking_people_is_refusing(
    world: World, outcome: Any
) -> None:
    def judge(asked: Admission) -> Verdict:
        assert draft(asked.input)["customer"] == 7
        assert (asked.action, asked.trusted.principal) == (w.ACTION, w.ANN.name)
        return Verdict(outcome=outcome, rule="hours", reason="not on a Sunday")

    world.plugins.append(gate(judge, stage=stages.INVOCATION_ADMIT))
    with pytest.raises(errors.Forbidden, match="hours: not on a Sunday"):
        world.start(complete(), input={"customer": 7})
    assert queries.invocations(w.ANN).items == []


def test_a_gate_of_starts_that_fails_refuses(world: World) -> None:
    world.plugins.append(gate(broken, "faulty", stages.INVOCATION_ADMIT))
    with pytest.raises(errors.Forbidden, match="faulty: the gate failed"):
        world.start(complete())


def test_observers_are_shown_how_a_start_was_judged(world: World) -> None:
    seen: list[Moment] = []
    world.plugins += [
        gate(lambda asked: Verdict(outcome="allow", rule="open"), stage=stages.INVOCATION_ADMIT),
        observer(seen.append, stage=stages.INVOCATION_ADMIT),
    ]
    world.start(complete())
    assert [(moment.when, moment.outcome.rule) for moment in seen] == [("after", "open")]


# The ten events of the hooks.


HOOKS: Final = {
    (stages.ATTEMPT_RUN, "before"): "SESSION_START",
    (stages.STEP_RUN, "before"): "BEFORE_TURN",
    (stages.MODEL_CALL, "before"): "BEFORE_MODEL_REQUEST",
    (stages.MODEL_RESPONSE, "after"): "AFTER_MODEL_RESPONSE",
    (stages.TOOL_CALL, "before"): "BEFORE_TOOL_CALL",
    (stages.TOOL_CALL, "after"): "AFTER_TOOL_CALL",
    (stages.STEP_RUN, "after"): "AFTER_TURN",
    (stages.INVOCATION_SETTLE, "after"): "SESSION_END",
}


def hooked(world: World) -> list[str]:
    """Let observers sit everywhere, and return the names of the hooks as they fire."""
    fired: list[str] = []

    def observe(moment: Moment) -> None:
        name = HOOKS.get((moment.stage, moment.when))
        if name and not (name == "SESSION_START" and moment.subject.resumed):  # type: ignore[attr-defined]
            fired.append(name)

    world.plugins += [observer(observe, stage=stage.name) for stage in stages.CATALOGUE]
    return fired


def test_one_tool_round_and_a_final_answer_fire_the_hooks_in_their_order(world: World) -> None:
    fired = hooked(world)
    world.run(calls(call(w.LOOK, "a")), complete())
    assert fired == [
        "SESSION_START",
        "BEFORE_TURN",
        "BEFORE_MODEL_REQUEST",
        "AFTER_MODEL_RESPONSE",
        "BEFORE_TOOL_CALL",
        "AFTER_TOOL_CALL",
        "AFTER_TURN",
        "BEFORE_TURN",
        "BEFORE_MODEL_REQUEST",
        "AFTER_MODEL_RESPONSE",
        "AFTER_TURN",
        "SESSION_END",
    ]


@pytest.mark.parametrize("how", ["a model error", "an approval", "a refusal", "a budget", "a cancel"])
def test_what_begins_also_ends_on_every_path(
    world: World, how: str, django_capture_on_commit_callbacks: Any
) -> None:
    moments: list[tuple[str, str]] = []
    world.plugins += [
        observer(lambda moment: moments.append((moment.stage, moment.when)), stage=stage)
        for stage in (stages.ATTEMPT_RUN, stages.STEP_RUN, stages.MODEL_CALL, stages.SUSPENSION)
    ]
    ended: list[Any] = []
    world.plugins.append(
        observer(lambda moment: ended.append(moment.outcome), stage=stages.INVOCATION_SETTLE)
    )
    match how:
        case "a model error":
            invocation = world.run(broken)
        case "a refusal":
            world.plugins.append(gate(broken, stage=CALL))
            invocation = world.run(complete())
        case "a budget":
            world.apply("short", limits="{ model_turns = 1 }")
            invocation = world.run(calls(call(w.LOOK, "a")), agent="short")
        case "an approval":
            invocation = world.run(calls(call(w.SEND, "a")), complete())
            assert ended == []
            world.decide(world.approval(invocation))
            world.settle()
        case _:
            invocation = world.run(calls(call(w.SEND, "a")), complete())
            with django_capture_on_commit_callbacks(execute=True):
                cancellations.cancel(w.ANN, invocation)
            moments.append((stages.SUSPENSION, "after"))
    for stage in {stage for stage, _ in moments}:
        whens = [when for found, when in moments if found == stage]
        assert whens == ["before", "after"] * (len(whens) // 2), stage
    assert len(ended) == 1
    assert ended[0].removeprefix("invocation.") == world.status(invocation)


def test_what_plugins_do_after_the_end_is_kept_behind_it(world: World) -> None:
    world.plugins.append(observer(broken, "faulty", stages.INVOCATION_SETTLE))
    invocation = world.run(complete())
    assert world.kinds(invocation)[-2:] == ["invocation.completed", "extension.failed"]
    assert world.status(invocation) == "completed"
