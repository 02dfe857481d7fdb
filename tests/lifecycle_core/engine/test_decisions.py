"""What a decision does: exactly what was shown runs, once; an edit is a call of its own; a refusal says why; time closes."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, expiry, inputs
from lifecycle_core.contract import digests, errors, identities, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.plugins import Verdict
from lifecycle_core.contract.subjects import ToolCall
from lifecycle_core.journal.models import Approval
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

DAY = 24 * 3600 * 1000


@pytest.fixture
def waiting(world: World) -> UUID:
    """Return an invocation that waits for one call."""
    return world.run(calls(call(w.SEND, "c1", to="ann", n=100)), complete())


# Who is first.


def test_the_same_decision_by_the_same_person_is_answered_again_and_runs_once(
    world: World, waiting: UUID
) -> None:
    approval = world.approval(waiting)
    first = world.decide(approval)
    assert world.decide(approval) == first
    world.settle()
    again = world.decide(approval)
    assert (again.state, len(again.decisions)) == ("approved", 1)
    assert len(world.tools[w.SEND].ran) == 1


@pytest.mark.parametrize("second", ["approve", "reject"])
def test_whoever_comes_second_is_told_who_decided_what_and_when(
    world: World, waiting: UUID, second: str
) -> None:
    approval = world.approval(waiting)
    world.decide(approval, by=w.BOB)
    world.clock.advance(1000)
    with pytest.raises(errors.AlreadyDecided) as refused:
        world.decide(approval, second)
    assert (refused.value.state, refused.value.by, refused.value.at_ms) == ("approved", "user:bob", w.NOW)


@pytest.mark.parametrize(
    ("decision", "first", "second"),
    [
        ("edit", {"arguments": {"to": "bob"}}, {"arguments": {"to": "cem"}}),
        ("edit", {"arguments": {}}, {"arguments": {"n": 1}}),
        ("respond", {"result": True}, {"result": 1}),
    ],
)
def test_the_same_person_with_other_content_is_too_late(
    world: World, waiting: UUID, decision: str, first: Mapping[str, Any], second: Mapping[str, Any]
) -> None:
    approval = world.approval(waiting)
    decided = world.decide(approval, decision, **first)
    assert world.decide(approval, decision, **first) == decided
    with pytest.raises(errors.AlreadyDecided):
        world.decide(approval, decision, **second)


def test_a_person_who_changes_his_mind_is_too_late(world: World, waiting: UUID) -> None:
    approval = world.approval(waiting)
    world.decide(approval, "reject")
    with pytest.raises(errors.AlreadyDecided):
        world.decide(approval, "approve")
    world.settle()
    assert world.tools[w.SEND].ran == []


@pytest.mark.parametrize("ends", ["completed", "cancelled"])
def test_a_decision_on_what_has_ended_changes_nothing(world: World, waiting: UUID, ends: str) -> None:
    approval = world.approval(waiting)
    if ends == "completed":
        world.decide(approval, "reject")
        world.settle()
    else:
        cancellations.cancel(w.ANN, waiting)
    before = world.item(waiting)
    assert before.status == ends
    with pytest.raises(errors.AlreadyDecided):
        world.decide(approval, by=w.BOB)
    assert world.item(waiting) == before
    assert world.tools[w.SEND].ran == []


def test_another_digest_than_the_one_on_screen_decides_nothing(world: World, waiting: UUID) -> None:
    approval = world.approval(waiting)
    with pytest.raises(errors.DigestMismatch):
        world.decide(approval, request_digest="sha256:" + "0" * 64)
    assert world.approval(waiting).state == "pending"


@pytest.mark.parametrize("decision", ["", "approved", "APPROVE", "yes", "true", None, True])
def test_a_word_that_is_no_decision_decides_nothing(world: World, waiting: UUID, decision: Any) -> None:
    with pytest.raises(errors.SchemaInvalid):
        world.decide(world.approval(waiting), decision)
    assert world.approval(waiting).state == "pending"


@pytest.mark.parametrize(
    ("decision", "given"),
    [
        ("approve", {"arguments": {}}),
        ("approve", {"result": 1}),
        ("reject", {"arguments": {}}),
        ("edit", {}),
        ("edit", {"arguments": {}, "result": 1}),
        ("respond", {}),
        ("respond", {"result": 1, "arguments": {}}),
    ],
)
def test_a_decision_takes_what_belongs_to_it_and_nothing_else(
    world: World, waiting: UUID, decision: str, given: Mapping[str, Any]
) -> None:
    with pytest.raises(errors.SchemaInvalid):
        world.decide(world.approval(waiting), decision, **given)
    assert world.approval(waiting).state == "pending"


# Edit.


def test_an_edit_replaces_the_arguments_and_keeps_those_that_were_proposed(
    world: World, waiting: UUID
) -> None:
    decided = world.decide(world.approval(waiting), "edit", arguments={"to": "bob"})
    assert (decided.state, decided.arguments, decided.proposed) == (
        "edited",
        {"to": "bob"},
        {"to": "ann", "n": 100},
    )
    world.settle()
    assert world.tools[w.SEND].arguments == [{"to": "bob"}]
    assert world.results(waiting)["c1"] == ("edited", {"done": {"to": "bob"}})


def test_an_edit_with_the_agents_secret_is_refused_and_changes_nothing(world: World, waiting: UUID) -> None:
    with pytest.raises(errors.SecretInArguments):
        world.decide(world.approval(waiting), "edit", arguments={"to": w.SECRET})
    assert world.approval(waiting).state == "pending"
    assert all(lease.released == 1 for lease in [*world.leases, *world.known])


def test_what_an_edit_would_change_holds_no_secret(world: World) -> None:
    world.tools[w.SEND].state = f"a file with {w.SECRET}"
    waiting = world.run(calls(call(w.SEND, "c1", to="ann")), complete())
    world.decide(world.approval(waiting), "edit", arguments={"to": "bob"})
    world.settle()
    assert w.SECRET not in repr(world.events(waiting)) + repr(world.approvals(waiting, state=None))


@pytest.mark.parametrize(
    ("decision", "given"),
    [
        ("respond", {"result": {"k": w.SECRET}}),
        ("reject", {"reason": w.SECRET}),
        ("approve", {"reason": w.SECRET}),
    ],
)
def test_a_secret_in_what_a_person_says_is_kept_nowhere(
    world: World, waiting: UUID, decision: str, given: dict[str, Any]
) -> None:
    world.decide(world.approval(waiting), decision, **given)
    world.settle()
    assert w.SECRET not in repr(world.events(waiting)) + repr(world.last_results())
    assert "[REDACTED]" in repr(world.events(waiting))
    assert all(lease.released == 1 for lease in [*world.leases, *world.known])


def test_a_secret_in_an_answer_is_kept_nowhere(world: World) -> None:
    asking = world.run(calls(ask("q1")), complete())
    world.answer(world.input(asking), f"use {w.SECRET}")
    world.settle()
    assert w.SECRET not in repr(world.events(asking)) + repr(world.last_results())


@pytest.mark.parametrize("stored", ['{"to":"somebody else"}', "not json", ""])
@pytest.mark.parametrize("decision", ["approve", "respond"])
def test_a_card_whose_row_was_rewritten_cannot_be_approved(
    world: World, waiting: UUID, decision: str, stored: str
) -> None:
    approval = world.approval(waiting)
    Approval.objects.filter(pk=approval.id).update(arguments=stored)
    given: dict[str, Any] = {"result": 1} if decision == "respond" else {}
    with pytest.raises(errors.DigestMismatch):
        world.decide(approval, decision, **given)
    assert Approval.objects.get(pk=approval.id).state == "pending"


def test_an_edit_to_nothing_is_an_edit(world: World, waiting: UUID) -> None:
    world.decide(world.approval(waiting), "edit", arguments={})
    world.settle()
    assert world.tools[w.SEND].arguments == [{}]
    assert world.results(waiting)["c1"][0] == "edited"


UNFITTING: dict[str, Any] = {
    "extra key": {"to": "ann", "cc": "bob"},
    "wrong type": {"n": "many"},
    "null for absent": {"to": None},
    "boolean for a number": {"n": True},
    "another tool's name": {"name": "put", "arguments": {}},
    "no object": ["ann"],
    "null": None,
    "text": "ann",
}


@pytest.mark.parametrize("arguments", UNFITTING.values(), ids=UNFITTING.keys())
def test_an_edit_must_fit_the_tool(world: World, waiting: UUID, arguments: Json) -> None:
    with pytest.raises(errors.SchemaInvalid):
        world.decide(world.approval(waiting), "edit", arguments=arguments)
    assert world.approval(waiting).state == "pending"


def test_an_edit_goes_through_the_gates_again(world: World, waiting: UUID) -> None:
    class NotBob:
        name = "not-bob"

        def judge(self, admission: ToolCall) -> Verdict:
            refuses = admission.arguments.get("to") == "bob"
            return Verdict(outcome="refuse" if refuses else "allow", rule=self.name, reason="not to bob")

    world.gates.append(NotBob())
    with pytest.raises(errors.Forbidden, match="not to bob") as refused:
        world.decide(world.approval(waiting), "edit", arguments={"to": "bob"})
    assert "not-bob" in refused.value.sentence
    assert world.approval(waiting).state == "pending"
    world.decide(world.approval(waiting), "edit", arguments={"to": "cem"})
    world.settle()
    assert world.tools[w.SEND].arguments == [{"to": "cem"}]


def test_an_edit_is_prepared_again_and_a_tool_may_refuse_it(world: World, waiting: UUID) -> None:
    def check(arguments: dict[str, Json]) -> None:
        if arguments.get("to") == "nobody":
            raise ports.ToolError("NO_SUCH_ADDRESS", "there is nobody")

    world.tools[w.SEND].check = check
    with pytest.raises(errors.SchemaInvalid) as refused:
        world.decide(world.approval(waiting), "edit", arguments={"to": "nobody"})
    assert "NO_SUCH_ADDRESS" in refused.value.problems[0].detail
    assert world.approval(waiting).state == "pending"


def test_an_edit_shows_what_it_would_change_now(world: World, waiting: UUID) -> None:
    world.tools[w.SEND].state = "as it is now"
    decided = world.decide(world.approval(waiting), "edit", arguments={"to": "bob"})
    assert decided.preview == {"kind": "text", "state": "as it is now"}
    world.settle()
    assert world.tools[w.SEND].arguments == [{"to": "bob"}]


def test_an_edit_that_went_stale_is_asked_anew_with_the_edited_arguments(world: World, waiting: UUID) -> None:
    world.decide(world.approval(waiting), "edit", arguments={"to": "bob"})
    world.tools[w.SEND].state = "changed after the edit"
    world.settle()
    asked = world.approval(waiting)
    assert asked.arguments == {"to": "bob"}
    assert world.tools[w.SEND].ran == []


# Respond and reject.


def test_a_response_takes_the_place_of_the_tool(world: World, waiting: UUID) -> None:
    world.decide(world.approval(waiting), "respond", result={"sent": "by hand"})
    world.settle()
    assert world.tools[w.SEND].ran == []
    assert world.results(waiting)["c1"] == ("answered", {"sent": "by hand"})
    assert world.last_results()["c1"] == '{"sent":"by hand"}'
    assert world.status(waiting) == "completed"


@pytest.mark.parametrize("result", [None, "", 0, False, []])
def test_a_response_may_be_empty(world: World, waiting: UUID, result: Json) -> None:
    world.decide(world.approval(waiting), "respond", result=result)
    world.settle()
    assert world.results(waiting)["c1"] == ("answered", result)
    assert world.status(waiting) == "completed"


def test_a_rejection_tells_the_agent_why_and_the_run_goes_on(world: World, waiting: UUID) -> None:
    world.decide(world.approval(waiting), "reject", reason="Ask \u202emaria\u202c first")
    world.settle()
    assert "Ask \u202emaria\u202c first" in world.last_results()["c1"]
    assert world.tools[w.SEND].ran == []
    assert world.status(waiting) == "completed"


# Time.


def test_an_approval_that_nobody_decides_expires_and_denies_the_call(world: World, waiting: UUID) -> None:
    world.clock.advance(DAY)
    assert expiry.sweep() == 1
    assert expiry.sweep() == 0
    world.settle()
    [expired] = world.approvals(waiting, state=None)
    assert expired.state == "expired"
    assert world.results(waiting)["c1"][0] == "expired"
    assert "EXPIRED" in world.last_results()["c1"]
    assert world.tools[w.SEND].ran == []
    assert world.status(waiting) == "completed"


def test_a_request_is_in_time_to_its_last_millisecond(world: World, waiting: UUID) -> None:
    world.clock.advance(DAY - 1)
    assert expiry.sweep() == 0
    world.decide(world.approval(waiting))
    world.settle()
    assert len(world.tools[w.SEND].ran) == 1


@pytest.mark.parametrize("decision", ["approve", "edit", "respond"])
def test_past_its_time_an_approval_cannot_be_given(world: World, waiting: UUID, decision: str) -> None:
    world.clock.advance(DAY)
    content: Mapping[str, Any] = {"edit": {"arguments": {}}, "respond": {"result": 1}}
    given = content.get(decision, {})
    with pytest.raises(errors.RequestExpired):
        world.decide(world.approval(waiting), decision, **given)
    assert world.approval(waiting).state == "pending"


def test_past_its_time_a_call_can_still_be_rejected(world: World, waiting: UUID) -> None:
    world.clock.advance(DAY)
    world.decide(world.approval(waiting), "reject", reason="late, but no")
    assert expiry.sweep() == 0
    world.settle()
    assert world.results(waiting)["c1"][0] == "denied"


def test_an_expired_approval_says_so_to_whoever_decides_afterwards(world: World, waiting: UUID) -> None:
    approval = world.approval(waiting)
    world.clock.advance(DAY)
    expiry.sweep()
    for decision in ("approve", "reject"):
        with pytest.raises(errors.RequestExpired):
            world.decide(approval, decision)


def test_a_decision_in_time_counts_however_late_it_is_carried_out(world: World, waiting: UUID) -> None:
    world.decide(world.approval(waiting))
    world.clock.advance(10 * DAY)
    assert expiry.sweep() == 0
    world.settle()
    assert len(world.tools[w.SEND].ran) == 1


def test_a_question_that_nobody_answers_expires_and_the_agent_is_told(world: World) -> None:
    invocation = world.run(calls(ask()), complete())
    asked = world.input(invocation)
    world.clock.advance(DAY)
    with pytest.raises(errors.RequestExpired):
        world.answer(asked, "late")
    assert expiry.sweep() == 1
    world.settle()
    [told] = world.last_results().values()
    assert "EXPIRED" in told
    assert world.status(invocation) == "completed"
    assert world.inputs(invocation, state=None)[0].state == "expired"
    with pytest.raises(errors.RequestExpired):
        world.answer(asked, "later")


def test_what_expires_first_is_swept_although_an_unknown_invocation_keeps_its_requests(world: World) -> None:
    lost = [world.run(calls(call(w.SEND, "c1", n=n), call(w.SEND, "c2", n=n))) for n in range(3)]
    for invocation in lost:
        world.tools[w.SEND].act = _unknown
        world.decide(world.approvals(invocation)[0])
        world.drive(invocation)
        assert world.status(invocation) == "unknown"
    waiting = world.run(calls(call(w.PUT, "c1")), complete())
    world.clock.advance(DAY)
    assert expiry.sweep(limit=1) == 1
    assert world.approvals(waiting) == []
    assert all(len(world.approvals(invocation)) == 1 for invocation in lost)


def _unknown(arguments: Any, context: Any) -> Json:
    raise ports.OutcomeUnknown("the line went dead")


# What was approved is what runs.


def test_what_changed_since_it_was_approved_is_asked_anew(world: World, waiting: UUID) -> None:
    first = world.approval(waiting)
    world.decide(first)
    world.tools[w.SEND].state = "changed meanwhile"
    world.settle()
    assert world.tools[w.SEND].ran == []
    assert world.status(waiting) == w.AWAITING
    second = world.approval(waiting)
    assert second.id != first.id
    assert second.request_digest != first.request_digest
    assert second.preview == {"kind": "text", "state": "changed meanwhile"}
    states = {item.id: item.state for item in world.approvals(waiting, state=None)}
    assert states == {first.id: "superseded", second.id: "pending"}
    world.decide(second)
    world.settle()
    assert len(world.tools[w.SEND].ran) == 1
    assert world.status(waiting) == "completed"


def test_a_superseded_approval_cannot_be_decided_again(world: World, waiting: UUID) -> None:
    first = world.approval(waiting)
    world.decide(first)
    world.tools[w.SEND].state = "changed meanwhile"
    world.settle()
    with pytest.raises(errors.AlreadyDecided) as refused:
        world.decide(first)
    assert refused.value.state == "superseded"
    assert world.approval(waiting).state == "pending"


def test_what_changes_in_the_moment_of_the_run_is_asked_anew(world: World, waiting: UUID) -> None:
    tool = world.tools[w.SEND]

    def change_it(change: ports.Change) -> None:
        if any(fact.kind == "tool.intended" for fact in change.events):
            tool.state = f"changed after intent {len(tool.ran)}"

    world.store.after = change_it
    world.decide(world.approval(waiting))
    world.settle()
    world.store.after = lambda change: None
    assert tool.ran == []
    assert world.status(waiting) == w.AWAITING
    world.decide(world.approval(waiting))
    world.settle()
    assert len(tool.ran) == 1
    assert world.status(waiting) == "completed"
    assert world.results(waiting)["c1"][0] == "executed"


def test_a_stricter_gate_voids_an_approval_that_was_given(world: World, waiting: UUID) -> None:
    class Closed:
        name = "closed"

        def judge(self, admission: ToolCall) -> Verdict:
            return Verdict(outcome="refuse", rule=self.name, reason="closed since noon")

    world.decide(world.approval(waiting))
    world.gates.append(Closed())
    world.settle()
    assert world.tools[w.SEND].ran == []
    assert world.results(waiting)["c1"][0] == "refused"
    assert "closed since noon" in world.last_results()["c1"]
    assert [item.state for item in world.approvals(waiting, state=None)] == ["superseded"]


def test_a_tool_that_is_gone_when_its_call_is_approved_refuses_it(world: World, waiting: UUID) -> None:
    world.decide(world.approval(waiting))
    del world.tools[w.SEND]
    world.settle()
    assert world.results(waiting)["c1"][0] == "refused"
    assert world.status(waiting) == "completed"


def test_the_approval_names_everything_that_it_stands_for(world: World, waiting: UUID) -> None:
    [asked] = world.of_kind(waiting, "approval.requested")
    bound = asked["bound"]
    item, record = world.approval(waiting), world.store.load(waiting)
    assert digests.digest(bound) == item.request_digest
    dispatch: Any = record.dispatch
    expected = {
        "tenant": "default",
        "delivery": record.delivery.as_json(),
        "invocation": str(waiting),
        "attempt": 1,
        "modelTurn": 1,
        "callId": "c1",
        "tool": w.SEND,
        "toolSchema": world.tools[w.SEND].spec.schema_digest,
        "arguments": digests.digest({"to": "ann", "n": 100}),
        "preparation": {"state": "as it was"},
        "executor": dispatch["executor"]["bindingIdentity"],
        "session": record.session,
        "workspace": digests.digest(dispatch["workspace"]),
        "expiresAt": item.expires_at,
    }
    assert {name: bound[name] for name in expected} == expected
    assert len(bound["nonce"]) == 32
    assert record.session


def test_an_approval_is_used_up_by_its_own_call(world: World, waiting: UUID) -> None:
    approval = world.approval(waiting)
    world.decide(approval)
    world.settle()
    [intended] = world.of_kind(waiting, "tool.intended")
    assert intended["approval"] == approval.id
    row = Approval.objects.get(pk=approval.id)
    assert (row.consumed_call, row.consumed_token) == (intended["call"], intended["token"])


# Inputs.


def test_an_answer_reaches_the_agent_with_its_receipt(world: World) -> None:
    invocation = world.run(calls(ask("q1", schema={"type": "object", "required": ["n"]})), complete())
    answered = world.answer(world.input(invocation), {"n": 7}, by=w.BOB)
    assert (answered.state, answered.answer, answered.answered_by) == ("answered", {"n": 7}, "user:bob")
    world.settle()
    [told] = world.last_results().values()
    assert told == '{"content":{"n":7},"kind":"ANSWER"}'
    [fact] = world.of_kind(invocation, "input.answered")
    response: dict[str, Json] = {
        "kind": "ANSWER",
        "requestIdentity": "q1",
        "content": {"n": 7},
        "contentIdentity": digests.digest({"n": 7}),
    }
    assert fact["receipt"] == identities.receipt(response)


@pytest.mark.parametrize("content", [{"n": "seven"}, {}, 7, None, "7"])
def test_an_answer_that_does_not_fit_leaves_the_question_open_and_burns_nothing(
    world: World, content: Json
) -> None:
    schema: Json = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    invocation = world.run(calls(ask(schema=schema)), complete())
    with pytest.raises(errors.SchemaInvalid):
        world.answer(world.input(invocation), content)
    assert world.status(invocation) == w.AWAITING
    world.answer(world.input(invocation), {"n": 1})
    world.settle()
    assert world.status(invocation) == "completed"


def test_a_request_to_finish_needs_no_answer(world: World) -> None:
    invocation = world.run(calls(ask(schema={"type": "integer"})), complete())
    world.answer(world.input(invocation), None, kind="ACTION_FINISH_REQUESTED")
    world.settle()
    [told] = world.last_results().values()
    assert told == '{"content":null,"kind":"ACTION_FINISH_REQUESTED"}'


@pytest.mark.parametrize("given", [{"request_identity": "q2"}, {"content_identity": "sha256:" + "0" * 64}])
def test_an_answer_to_another_question_or_with_another_content_is_refused(
    world: World, given: dict[str, Any]
) -> None:
    invocation = world.run(calls(ask("q1")), complete())
    before = world.item(invocation)
    with pytest.raises(errors.CorrelationMismatch):
        world.answer(world.input(invocation), "blue", **given)
    assert world.item(invocation) == before


def test_two_people_answer_and_the_second_is_told(world: World) -> None:
    invocation = world.run(calls(ask()), complete())
    asked = world.input(invocation)
    first = world.answer(asked, "blue")
    assert world.answer(asked, "blue") == first
    for by, content in ((w.BOB, "blue"), (w.ANN, "red")):
        with pytest.raises(errors.AlreadyDecided) as refused:
            world.answer(asked, content, by=by)
        assert (refused.value.state, refused.value.by) == ("answered", "user:ann")
    world.settle()
    assert len(world.seen) == 2


def test_a_declined_question_is_told_to_the_agent(world: World) -> None:
    invocation = world.run(calls(ask()), complete())
    asked = UUID(world.input(invocation).id)
    declined = inputs.decline(w.BOB, asked, reason="not my business")
    assert declined.state == "declined"
    assert inputs.decline(w.BOB, asked, reason="not my business") == declined
    with pytest.raises(errors.AlreadyDecided):
        inputs.decline(w.ANN, asked)
    world.settle()
    [told] = world.last_results().values()
    assert "not my business" in told
    assert world.status(invocation) == "completed"
