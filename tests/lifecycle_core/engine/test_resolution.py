"""An unknown invocation goes on, or is settled, when a coordinator says what happened; nobody else, never without a reason."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from lifecycle_core.application import resolutions
from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.resolution import Finding
from lifecycle_core.testing.answers import Call
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World

pytestmark = pytest.mark.django_db

CARL = w.actor("coordinator", name="user:carl")


def unknown(world: World, *more: Call) -> UUID:
    """Let an unsafe call that was approved be lost on its way."""
    invocation = lost(world, *more)
    world.decide(next(a for a in world.approvals(invocation) if a.call_id == "c1"))
    world.drive(invocation)
    assert world.status(invocation) == "unknown"
    return invocation


def lost(world: World, *more: Call) -> UUID:
    """Run an invocation whose unsafe call is lost on its way, once it may run."""
    sent = world.tools[w.SEND]

    def lose(arguments: dict[str, Any], context: ports.ToolContext) -> Any:
        sent.act = lambda arguments, context: {"done": arguments}
        raise ports.OutcomeUnknown("the line broke")

    sent.act = lose
    return world.run(w.calls(w.call(w.SEND, "c1", to="bob"), *more), w.complete())


class RefuseGate(w.AllowGate):
    """Let nothing pass."""

    name = "refuse-gate"

    def judge(self, admission: Any) -> Any:
        return replace(super().judge(admission), outcome="refuse", rule=self.name)


def intent(world: World, invocation: UUID) -> str:
    [only] = resolutions.open_intents(CARL, invocation)
    return only.call


def resolve(world: World, invocation: UUID, outcome: Any = "continue", *found: Finding, **given: Any) -> str:
    given.setdefault("reason", "I looked")
    by = given.pop("by", CARL)
    return resolutions.resolve(by, invocation, outcome=outcome, findings=found, **given).status


def happened(call: str, result: Any = "sent") -> Finding:
    return Finding(call=call, happened=True, result=result)


def did_not(call: str, then: Any) -> Finding:
    return Finding(call=call, happened=False, then=then)


def test_what_is_not_known_is_listed_with_what_was_sent(world: World) -> None:
    invocation = unknown(world)
    [only] = resolutions.open_intents(CARL, invocation)
    [approval] = world.approvals(invocation, state="approved")
    assert (only.tool, only.arguments, only.effect_class) == (w.SEND, {"to": "bob"}, "unsafe")
    assert (only.approval, only.attempts, only.intended_at) == (approval.id, 1, w.NOW)


def test_a_call_that_happened_gets_its_result_and_the_agent_goes_on(world: World) -> None:
    invocation = unknown(world)
    call = intent(world, invocation)
    assert resolve(world, invocation, "continue", happened(call, {"id": 7})) == "running"
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.results(invocation)["c1"] == ("executed", {"id": 7})
    assert len(world.tools[w.SEND].ran) == 1
    [fact] = world.of_kind(invocation, "call.resolved")
    assert (fact["call"], fact["finding"], fact["by"], fact["reason"]) == (
        call,
        "happened",
        "user:carl",
        "I looked",
    )
    [went_on] = world.of_kind(invocation, "unknown.continued")
    assert went_on == {"by": "user:carl", "reason": "I looked"}
    assert resolutions.open_intents(CARL, invocation) == []


def test_a_call_that_did_not_happen_runs_under_the_same_identity_and_approval(world: World) -> None:
    invocation = unknown(world)
    call = intent(world, invocation)
    resolve(world, invocation, "continue", did_not(call, "run"))
    world.settle()
    assert world.status(invocation) == "completed"
    assert [ran for ran, _ in world.tools[w.SEND].ran] == [call, call]
    first, second = world.of_kind(invocation, "tool.intended")
    assert (second["attempt"], second["approval"]) == (2, first["approval"])
    assert world.results(invocation)["c1"] == ("executed", {"done": {"to": "bob"}})


def test_a_call_that_would_do_something_else_now_is_asked_about_again(world: World) -> None:
    invocation = unknown(world)
    world.tools[w.SEND].state = "changed meanwhile"
    resolve(world, invocation, "continue", did_not(intent(world, invocation), "run"))
    world.settle()
    assert world.status(invocation) == "awaiting-input"
    assert len(world.tools[w.SEND].ran) == 1
    assert world.approval(invocation).call_id == "c1"


@pytest.mark.parametrize(
    "says", [Finding(call="", happened=True, then="run"), Finding(call="", happened=False)]
)
def test_what_follows_is_said_where_it_did_not_happen_and_only_there(world: World, says: Finding) -> None:
    invocation = unknown(world)
    with pytest.raises(errors.SchemaInvalid) as refused:
        resolve(world, invocation, "continue", replace(says, call=intent(world, invocation)))
    assert [problem.pointer for problem in refused.value.problems] == ["/calls/0/then"]
    assert world.status(invocation) == "unknown"


@pytest.mark.parametrize("stricter", ["ask", "refuse"])
def test_a_call_that_nobody_was_asked_about_meets_the_gates_again_before_it_runs(
    world: World, stricter: str
) -> None:
    asks = world.gates[:]
    world.gates[:] = [w.AllowGate()]
    invocation = lost(world)
    world.gates[:] = asks if stricter == "ask" else [RefuseGate()]
    resolve(world, invocation, "continue", did_not(intent(world, invocation), "run"))
    world.settle()
    assert len(world.tools[w.SEND].ran) == 1, "it does not run before that"
    if stricter == "refuse":
        assert world.results(invocation)["c1"][0] == "refused"
        return
    assert world.status(invocation) == "awaiting-input"
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == "completed"
    assert len({ran for ran, _ in world.tools[w.SEND].ran}) == 1, "under the same identity"


def test_a_call_that_did_not_happen_can_be_an_error_for_the_agent(world: World) -> None:
    invocation = unknown(world)
    resolve(world, invocation, "continue", did_not(intent(world, invocation), "error"))
    world.settle()
    assert world.status(invocation) == "completed"
    outcome, content = world.results(invocation)["c1"]
    assert (outcome, content["error"]) == ("failed", "DID_NOT_HAPPEN")  # type: ignore[index,call-overload]
    assert len(world.tools[w.SEND].ran) == 1


@pytest.mark.parametrize(
    ("outcome", "code"), [("failed", "CALL_INTERRUPTED"), ("cancelled", "PROVIDER_CANCELLED")]
)
def test_it_can_be_settled_and_then_nothing_of_it_stays_open(world: World, outcome: str, code: str) -> None:
    invocation = unknown(world, w.call(w.SEND, "c2", to="eve"))
    assert world.approval(invocation).call_id == "c2"
    assert resolve(world, invocation, outcome) == outcome
    assert world.disposition(invocation)["code"] == code
    assert world.approvals(invocation) == []
    [closed] = world.of_kind(invocation, "approval.cancelled")
    assert closed["reason"] == f"resolved as {outcome}"
    assert world.results(invocation).keys() == {"c2"}
    assert intent(world, invocation), "what nobody found out is still to be seen"


def test_requests_that_waited_meanwhile_can_be_decided_once_it_goes_on(world: World) -> None:
    invocation = unknown(world, w.call(w.SEND, "c2", to="eve"))
    waiting = world.approval(invocation)
    with pytest.raises(errors.StatusConflict):
        world.decide(waiting)
    resolve(world, invocation, "continue", happened(intent(world, invocation)))
    world.settle()
    assert world.status(invocation) == "awaiting-input"
    world.decide(waiting)
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.tools[w.SEND].arguments == [{"to": "bob"}, {"to": "eve"}]


def test_to_go_on_every_open_call_must_have_an_answer(world: World) -> None:
    invocation = unknown(world)
    with pytest.raises(errors.SchemaInvalid) as refused:
        resolve(world, invocation)
    assert [problem.pointer for problem in refused.value.problems] == ["/calls"]
    assert world.status(invocation) == "unknown"


def test_findings_about_other_calls_or_twice_about_one_are_refused(world: World) -> None:
    invocation = unknown(world)
    call = intent(world, invocation)
    with pytest.raises(errors.SchemaInvalid) as refused:
        resolve(world, invocation, "continue", happened(call), happened("call-none"), happened(call))
    assert [problem.pointer for problem in refused.value.problems] == ["/calls/1/call", "/calls/2/call"]
    with pytest.raises(errors.SchemaInvalid) as refused:
        resolve(world, invocation, "failed", did_not(call, "run"))
    assert [problem.pointer for problem in refused.value.problems] == ["/calls/0/then"]
    assert world.kinds(invocation)[-1] == "invocation.became-unknown"


@pytest.mark.parametrize("reason", ["", "  \n", "x" * 2001])
def test_there_is_always_a_reason(world: World, reason: str) -> None:
    invocation = unknown(world)
    with pytest.raises(errors.SchemaInvalid) as refused:
        resolve(world, invocation, "failed", reason=reason)
    assert [problem.pointer for problem in refused.value.problems] == ["/reason"]


@pytest.mark.parametrize("role", ["viewer", "operator", "auditor", "admin", "host"])
def test_nobody_but_a_coordinator_resolves(world: World, role: str) -> None:
    invocation = unknown(world)
    with pytest.raises((errors.Forbidden, errors.NotFound)):
        resolve(world, invocation, "failed", by=w.actor(role, name="user:else"))
    assert world.status(invocation) == "unknown"


def test_what_is_known_is_not_resolved(world: World) -> None:
    invocation = world.run(w.complete())
    with pytest.raises(errors.StatusConflict):
        resolve(world, invocation, "failed")
    with pytest.raises(errors.NotFound):
        resolve(world, uuid4(), "failed")


def test_the_second_of_two_coordinators_is_refused_and_a_repeated_command_is_not(world: World) -> None:
    invocation = unknown(world)
    found = did_not(intent(world, invocation), "error")
    assert resolve(world, invocation, "continue", found, key="k1") == "running"
    assert resolve(world, invocation, "continue", found, key="k1") == "running"
    with pytest.raises(errors.StatusConflict):
        resolve(world, invocation, "failed", by=w.ANN)
    assert world.kinds(invocation).count("call.resolved") == 1


def test_what_a_coordinator_says_holds_no_secret(world: World) -> None:
    invocation = unknown(world)
    resolve(
        world,
        invocation,
        "continue",
        happened(intent(world, invocation), {"token": w.SECRET}),
        reason=f"see {w.SECRET}",
    )
    world.settle()
    assert w.SECRET not in str(world.events(invocation))
    assert world.results(invocation)["c1"][1] == {"token": "[REDACTED]"}


def test_a_session_that_could_not_be_restored_is_tried_again(world: World) -> None:
    invocation = world.run(w.calls(w.call(w.SEND, "c1", to="bob")), w.complete())
    world.decide(world.approval(invocation))
    provider = world.providers["chat-completions"]

    def gone(request: ports.SessionRequest) -> Any:
        raise LookupError("gone")

    provider.restore = gone  # type: ignore[method-assign]
    world.drive(invocation)
    assert world.disposition(invocation)["reason"] == "CHILD_UNREACHABLE"
    assert resolutions.open_intents(CARL, invocation) == []
    resolve(world, invocation)
    world.settle()
    assert world.status(invocation) == "unknown"
    del provider.restore
    resolve(world, invocation)
    world.settle()
    assert world.status(invocation) == "completed"
    assert len(world.tools[w.SEND].ran) == 1


def test_an_episode_that_never_got_its_session_begins_when_it_is_resolved(world: World) -> None:
    world.apply("worker", session='{ scope = "data-bound", isolation = "shared", source = "customer" }')
    given: dict[str, Any] = {"input": {"customer": 7}, "delivery": "d1"}
    world.run(w.complete(), **given)
    provider = world.providers["chat-completions"]

    def gone(request: ports.SessionRequest) -> Any:
        raise LookupError("gone")

    provider.restore = gone  # type: ignore[method-assign]
    second = world.run(w.complete({"ok": "second"}), **given)
    assert world.status(second) == "unknown"
    del provider.restore
    resolve(world, second)
    world.settle()
    assert world.status(second) == "completed"
    assert world.disposition(second)["result"] == {"ok": "second"}
