"""One tool call: what its tool does wrong costs as little as possible, what cannot be known is never guessed."""

from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.contract import digests, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.plugins import Verdict
from lifecycle_core.contract.ports import EffectClass, ToolContext
from lifecycle_core.contract.subjects import ToolCall
from lifecycle_core.engine import telling
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.plugins.ask_gate import AskGate
from lifecycle_core.testing.answers import Answer, Call
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, call, calls, complete

pytestmark = pytest.mark.django_db

CLASSES: Final = pytest.mark.parametrize("effect_class", list(EffectClass))


@pytest.fixture(autouse=True)
def allow(world: World) -> None:
    world.gates[:] = [w.AllowGate()]


def raising(fault: Exception) -> Any:
    def act(arguments: dict[str, Json], context: ToolContext) -> Json:
        raise fault

    return act


def one_call(world: World, effect_class: EffectClass, act: Any) -> UUID:
    tool = world.tools[w.BY_CLASS[effect_class]]
    tool.act = act
    return world.run(calls(call(tool.name, "x", n=1)), complete())


@CLASSES
def test_a_call_that_does_not_work_is_told_to_the_agent_and_the_run_goes_on(
    world: World, effect_class: EffectClass
) -> None:
    invocation = one_call(world, effect_class, raising(ports.ToolError("NO_SPACE", "the disk is full")))
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["x"] == ("failed", {"error": "NO_SPACE", "detail": "the disk is full"})
    assert "NO_SPACE" in world.last_results()["x"]


@pytest.mark.parametrize(
    ("effect_class", "status"),
    [
        (EffectClass.READ_ONLY, "completed"),
        (EffectClass.IDEMPOTENT, "completed"),
        (EffectClass.RECONCILABLE, "unknown"),
        (EffectClass.UNSAFE, "unknown"),
    ],
)
def test_a_fault_of_the_tool_is_harmless_only_where_repeating_is(
    world: World, effect_class: EffectClass, status: str
) -> None:
    invocation = one_call(world, effect_class, raising(ZeroDivisionError("secret internals")))
    assert world.status(invocation) == status
    if status == "completed":
        assert world.results(invocation)["x"] == (
            "failed",
            {"error": "TOOL_FAULT", "detail": "ZeroDivisionError"},
        )
    else:
        [intended] = world.of_kind(invocation, "tool.intended")
        [unknown] = world.of_kind(invocation, "invocation.became-unknown")
        assert unknown["open_intents"] == [intended["call"]]
        assert world.results(invocation) == {}


@CLASSES
def test_an_outcome_that_nobody_knows_makes_the_invocation_unknown(
    world: World, effect_class: EffectClass
) -> None:
    invocation = one_call(world, effect_class, raising(ports.OutcomeUnknown("lost after sending")))
    assert world.status(invocation) == "unknown"
    assert "lost after sending" in world.disposition(invocation)["detail"]
    [unknown] = world.of_kind(invocation, "invocation.became-unknown")
    assert len(unknown["open_intents"]) == 1
    assert len(world.seen) == 1


def test_after_an_unknown_outcome_no_other_call_of_the_batch_is_sent(world: World) -> None:
    world.tools[w.SEND].act = raising(ports.OutcomeUnknown("lost"))
    invocation = world.run(calls(call(w.SEND, "a"), call(w.SEND, "b"), call(w.LOOK, "c")))
    assert world.status(invocation) == "unknown"
    assert len(world.tools[w.SEND].ran) == 1
    assert world.tools[w.LOOK].ran == []


def test_a_tool_that_cannot_prepare_a_call_costs_that_call_alone(world: World) -> None:
    def check(arguments: dict[str, Json]) -> None:
        if arguments == {"n": 1}:
            raise ZeroDivisionError

    world.tools[w.LOOK].check = check
    invocation = world.run(calls(call(w.LOOK, "a", n=1), call(w.LOOK, "b", n=2)), complete())
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["a"] == (
        "refused",
        {"error": "TOOL_FAULT", "detail": "ZeroDivisionError"},
    )
    assert world.results(invocation)["b"][0] == "executed"


def test_a_tool_that_can_no_longer_prepare_what_was_approved_refuses_it(world: World) -> None:
    world.gates[:] = []
    invocation = world.run(calls(call(w.SEND, "a", n=1)), complete())
    world.decide(world.approval(invocation))
    world.tools[w.SEND].check = _broken
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["a"][0] == "refused"


def _broken(arguments: Any) -> None:
    raise ZeroDivisionError


# Results that cannot be kept. What was done stays a fact.


@pytest.mark.parametrize(
    "content", [float("nan"), 2**53, "\ud800", {1: 2}, object(), {"a": b"bytes"}], ids=repr
)
def test_a_result_that_is_no_json_is_lost_and_the_call_was_carried_out(world: World, content: Any) -> None:
    invocation = one_call(world, EffectClass.UNSAFE, lambda arguments, context: content)
    assert world.status(invocation) == "completed"
    outcome, kept = world.results(invocation)["x"]
    assert outcome == "executed"
    assert isinstance(kept, dict)
    assert kept["error"] == "RESULT_NOT_JSON"


def test_a_result_beyond_the_limit_is_lost_and_the_call_was_carried_out(world: World) -> None:
    size = world.services.value_bytes // 4
    # Each of these is two bytes in the value, and four where that is told as text.
    large: Json = {"text": '"' * (2 * size - 100)}
    invocation = one_call(world, EffectClass.UNSAFE, lambda arguments, context: large)
    assert world.status(invocation) == "completed"
    outcome, kept = world.results(invocation)["x"]
    assert outcome == "executed"
    assert isinstance(kept, dict)
    assert kept["error"] == "RESULT_TOO_LARGE"


def test_a_result_at_the_limit_is_kept_and_told_in_full(world: World) -> None:
    text = "x" * (world.services.value_bytes - telling.ENVELOPE_BYTES - 2)
    invocation = one_call(world, EffectClass.READ_ONLY, lambda arguments, context: text)
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["x"] == ("executed", text)
    assert world.last_results()["x"] == text


# Calls that are refused before anybody is asked.


def refused(world: World, made: Call) -> dict[str, Any]:
    """Return what the agent is told of a call that is refused, and see that nothing ran and nobody was asked."""
    invocation = world.run(calls(made), complete())
    assert world.status(invocation) == "completed"
    assert all(tool.ran == [] for tool in world.tools.values())
    assert world.approvals(invocation, state=None) == []
    assert "tool.intended" not in world.kinds(invocation)
    [told] = [content for id, (outcome, content) in world.results(invocation).items() if id == "x"]
    assert isinstance(told, dict)
    return told


def test_a_tool_that_the_agent_does_not_have_is_refused(world: World) -> None:
    assert refused(world, call("bash", "x", command="ls"))["error"] == "TOOL_NOT_ADMITTED"


@pytest.mark.parametrize(
    "arguments",
    ["{", "[]", "null", '"text"', '{"n":1,"n":2}', '{"n":1e400}', '{"n":NaN}', '{"n":9007199254740993}'],
)
def test_arguments_that_are_no_exact_object_are_refused(world: World, arguments: str) -> None:
    assert refused(world, Call(tool=w.SEND, arguments=arguments, id="x"))["error"] == "ARGUMENTS_INVALID"


@pytest.mark.parametrize("arguments", [{"n": "one"}, {"to": 1}, {"other": 1}, {"n": None}])
def test_arguments_that_do_not_fit_are_refused_with_their_place(world: World, arguments: Any) -> None:
    told = refused(world, Call(tool=w.SEND, arguments=arguments, id="x"))
    assert told["error"] == "ARGUMENTS_INVALID"
    assert "/" in told["detail"]


def test_a_call_that_a_gate_refuses_says_which(world: World) -> None:
    class Never:
        name = "never"

        def judge(self, admission: ToolCall) -> Verdict:
            return Verdict(outcome="refuse", rule="never: rule 7", reason="not on a Sunday")

    world.gates.append(Never())
    assert refused(world, call(w.SEND, "x")) == {
        "error": "REFUSED",
        "detail": "never: rule 7: not on a Sunday",
    }


def test_a_gate_sees_the_call_and_cannot_change_it(world: World) -> None:
    seen: list[ToolCall] = []

    class Curious:
        name = "curious"

        def judge(self, admission: ToolCall) -> Verdict:
            seen.append(admission)
            return Verdict(outcome="allow", rule=self.name)

    world.gates.append(Curious())
    world.run(calls(call(w.SEND, "x", to="ann", n=1)), complete())
    [admission] = seen
    assert (admission.tenant, admission.agent, admission.tool, admission.effect_class) == (
        w.TENANT,
        "worker",
        w.SEND,
        EffectClass.UNSAFE,
    )
    with pytest.raises(TypeError):
        admission.arguments["to"] = "bob"  # type: ignore[index]


# Secrets.


@pytest.mark.parametrize(
    "arguments",
    [{"to": w.SECRET}, {"to": f"https://x/?key={w.SECRET}"}, {"to": w.SECRET.encode().hex()}],
    ids=["plain", "in an address", "in hexadecimal"],
)
def test_arguments_with_a_leased_secret_are_refused_and_neither_they_nor_their_digest_are_kept(
    world: World, arguments: Any
) -> None:
    invocation = world.run(calls(Call(tool=w.SEND, arguments=arguments, id="x")), complete())
    outcome, told = world.results(invocation)["x"]
    assert outcome == "refused"
    assert isinstance(told, dict)
    assert told["error"] == "SECRET_IN_ARGUMENTS"
    assert world.tools[w.SEND].ran == []
    kept = repr(world.events(invocation)) + repr(world.store.calls(invocation, 1))
    assert w.SECRET not in kept
    assert w.SECRET.encode().hex() not in kept
    assert digests.digest(arguments) not in kept
    assert "[REDACTED]" in kept


def test_a_secret_in_what_a_tool_returns_is_kept_nowhere(world: World) -> None:
    invocation = one_call(
        world, EffectClass.READ_ONLY, lambda arguments, context: {w.SECRET: [f"key {w.SECRET}"]}
    )
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["x"] == ("executed", {"[REDACTED]": ["key [REDACTED]"]})
    record = world.store.load(invocation)
    assert w.SECRET not in repr(world.store.messages(w.TENANT, record.affinity))


def test_a_secret_in_what_an_approved_call_returns_is_kept_nowhere(world: World) -> None:
    world.gates[:] = [AskGate()]
    world.tools[w.SEND].act = lambda arguments, context: {"key": w.SECRET}
    invocation = world.run(calls(call(w.SEND, "x", n=1)), complete())
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["x"] == ("executed", {"key": "[REDACTED]"})
    assert w.SECRET not in world.last_results()["x"]
    assert all(lease.released == 1 for lease in world.leases)


def test_a_secret_in_the_fault_of_a_tool_is_not_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    one_call(world, EffectClass.READ_ONLY, raising(RuntimeError(f"key {w.SECRET}")))
    assert "[REDACTED]" in caplog.text
    assert w.SECRET not in caplog.text


def test_an_approved_call_runs_also_when_its_agents_secret_cannot_be_leased(world: World) -> None:
    world.gates[:] = [AskGate()]
    invocation = world.run(calls(call(w.SEND, "x", n=1)), complete())
    world.lease_fails = True
    world.decide(world.approval(invocation))
    world.settle()
    assert world.results(invocation)["x"][0] == "executed"


def test_a_secret_in_what_the_model_says_is_kept_nowhere(world: World) -> None:
    invocation = world.run(Answer(text=f"I use {w.SECRET}", reasoning=f"{w.SECRET}?"), complete())
    assert w.SECRET not in repr(world.events(invocation))
    [responded] = world.of_kind(invocation, "model.responded")
    assert responded["text"] == "I use [REDACTED]"
    record = world.store.load(invocation)
    assert w.SECRET not in repr(world.store.messages(w.TENANT, record.affinity))


def test_a_secret_in_a_result_and_in_a_question_is_kept_nowhere(world: World) -> None:
    asking = world.run(calls(w.ask(f"q {w.SECRET}", prompt=f"Is {w.SECRET} right?")))
    done = world.run(complete({"ok": w.SECRET}))
    for invocation in (asking, done):
        assert w.SECRET not in repr(world.events(invocation)) + repr(world.item(invocation))
        assert w.SECRET not in repr(world.inputs(invocation))


# What a native session may do with the carrier.


def test_names_that_no_database_can_hold_fail_the_invocation_and_no_worker(world: World) -> None:
    def act(session: Any, turn: Any, carrier: ports.Carrier) -> None:
        carrier.call_tools([ports.ProposedCall(call_id="a\x00b", tool=w.SEND, arguments={})])

    world.gates[:] = []
    world.providers["chat-completions"] = w.NativeProvider([act])
    invocation = world.run()
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert world.store.load(invocation).worker == ""


@pytest.mark.parametrize("text", ["\ud800", "x" * (5 * 1024 * 1024)], ids=["lone surrogate", "five MiB"])
@pytest.mark.parametrize("resumed", [False, True])
def test_an_answer_that_cannot_be_kept_fails_the_invocation_and_no_worker(
    world: World, text: str, resumed: bool
) -> None:
    world.gates[:] = []
    first = [calls(call(w.SEND, "a"))] if resumed else []
    invocation = world.run(*first, Answer(text=text))
    if resumed:
        world.decide(world.approval(invocation))
        world.settle()
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) in {
        ("PROVIDER_PROTOCOL_ERROR", "never"),
        ("PROVIDER_PROTOCOL_ERROR", "same-episode"),
    }
    assert world.store.load(invocation).worker == ""


def test_a_session_that_goes_on_after_its_completion_reaches_no_model(world: World) -> None:
    asked: list[int] = []

    def act(session: Any, turn: Any, carrier: ports.Carrier) -> None:
        carrier.emit(ports.StructuredCompletion(result={"ok": True}))
        carrier.call_model(lambda emit: asked.append(1))  # type: ignore[arg-type,return-value]

    world.providers["chat-completions"] = w.NativeProvider([act])
    assert world.status(world.run()) == "completed"
    assert asked == []


# Limits.


def test_the_limit_of_model_turns_ends_the_run(world: World) -> None:
    world.apply("worker", limits="{ model_turns = 3 }")
    invocation = world.run(calls(call(w.LOOK)))
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("BUDGET_EXHAUSTED", "never")
    assert "model turns" in disposition["detail"]
    assert len(world.seen) == 3


def test_the_limit_of_tokens_ends_the_run_before_the_next_model_call(world: World) -> None:
    world.apply("worker", limits="{ tokens = 240 }")  # every scripted answer uses 120
    invocation = world.run(calls(call(w.LOOK)))
    assert world.disposition(invocation)["code"] == "BUDGET_EXHAUSTED"
    assert len(world.seen) == 2
    assert world.item(invocation).tokens == 240


def test_a_batch_beyond_the_limit_of_calls_runs_none_of_them(world: World) -> None:
    world.apply("worker", limits="{ tool_calls = 3 }")
    invocation = world.run(
        calls(call(w.LOOK, "a"), call(w.LOOK, "b")), calls(call(w.LOOK, "c"), call(w.LOOK, "d"))
    )
    assert world.disposition(invocation)["code"] == "BUDGET_EXHAUSTED"
    assert len(world.tools[w.LOOK].ran) == 2


def test_limits_count_over_suspensions(world: World) -> None:
    world.gates[:] = []
    world.apply("worker", limits="{ model_turns = 2, tool_calls = 2 }")
    invocation = world.run(calls(call(w.SEND)))
    for _ in range(2):
        world.decide(world.approval(invocation))
        world.settle()
    assert world.disposition(invocation)["code"] == "BUDGET_EXHAUSTED"
    assert len(world.seen) == 2
    assert world.item(invocation).open_requests == []


def test_running_out_of_budget_closes_what_is_open(world: World) -> None:
    world.gates[:] = []
    world.apply("worker", limits="{ tool_calls = 1 }")
    invocation = world.run(calls(call(w.SEND, "a"), call(w.SEND, "b")))
    assert world.status(invocation) == "failed"
    assert world.approvals(invocation) == []


@pytest.mark.parametrize("reason", ["time-limit", "shutdown"])
def test_an_interruption_between_two_decided_calls_stops_before_the_second(world: World, reason: Any) -> None:
    world.gates[:] = []
    interruption = Interruption()

    def interrupt(arguments: dict[str, Json], context: ToolContext) -> Json:
        interruption.interrupt(reason)
        return "sent"

    world.tools[w.SEND].act = interrupt
    invocation = world.run(calls(call(w.SEND, "a"), call(w.SEND, "b")), complete())
    for approval in world.approvals(invocation):
        world.decide(approval)
    world.drive(invocation, interruption=interruption)
    assert len(world.tools[w.SEND].ran) == 1
    assert world.results(invocation)["a"][0] == "executed"
    if reason == "time-limit":
        assert world.disposition(invocation)["code"] == "PROVIDER_TIMED_OUT"
        assert world.results(invocation)["b"][0] == "cancelled"
    else:
        assert world.status(invocation) == w.RUNNING
        world.die()
        world.settle()
        assert world.status(invocation) == "completed"
        assert len(world.tools[w.SEND].ran) == 2


def test_a_shutdown_while_the_model_is_asked_goes_on_at_the_next_start(world: World) -> None:
    interruption = Interruption()

    def cut(request: Any) -> Answer:
        if interruption():
            return complete()
        interruption.interrupt("shutdown")
        raise ports.ModelCallFailed("ABORTED", "cut")

    invocation = world.start(cut)
    assert world.drive(invocation, interruption=interruption) == w.RUNNING
    assert "invocation.failed" not in world.kinds(invocation)
    world.die()
    world.settle()
    assert world.status(invocation) == "completed"


def test_failures_of_a_model_call_say_what_they_are(world: World) -> None:
    def fail(request: Any) -> Answer:
        raise ports.ModelCallFailed("RATE_LIMIT", "slow down", retry_after_ms=1000)

    invocation = world.run(fail)
    assert world.status(invocation) == "failed"
    assert "RATE_LIMIT" in world.disposition(invocation)["detail"]
