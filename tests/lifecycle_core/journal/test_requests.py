"""Approvals and input requests: who is first decides, on what is asked now, and in time."""

import json
from typing import Any
from uuid import uuid4

import pytest

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.contract.status import Status
from lifecycle_core.journal import models
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db


def approval_of(identity: str) -> models.Approval:
    return models.Approval.objects.get(id=identity)


def test_an_approval_waits_with_everything_that_was_asked(store: Store) -> None:
    run = making.running(store)
    approval = approval_of(run.ask("c1", to="ann"))
    assert (approval.state, approval.version, approval.tenant) == ("pending", 1, making.TENANT)
    assert json.loads(approval.arguments) == json.loads(approval.proposed) == {"to": "ann"}
    call = run.call("c1")
    assert (call.state, call.approval, call.expires_at) == ("waiting", str(approval.id), making.LATER)
    assert run.record().open_requests == 1


@pytest.mark.parametrize(
    ("decision", "state", "call_state"),
    [
        ("approve", "approved", "approved"),
        ("reject", "rejected", "waiting"),
        ("respond", "responded", "waiting"),
    ],
)
def test_a_decision_is_made_once(store: Store, decision: str, state: str, call_state: str) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    run.decide(approval, decision, at=making.NOW + 7, fields={"reason": "because"})
    now = approval_of(approval)
    assert (now.state, now.closed_by, now.closed_at, now.version) == (state, "user:ann", making.NOW + 7, 2)
    assert run.call("c1").state == call_state
    assert run.record().open_requests == 0
    slot = models.Decision.objects.get()
    assert (slot.slot, slot.decision, slot.by, slot.at) == (0, decision, "user:ann", making.NOW + 7)
    assert json.loads(slot.reason) == "because"


@pytest.mark.parametrize("second", ["approve", "edit", "reject", "respond"])
@pytest.mark.parametrize("first", ["approve", "reject"])
def test_who_comes_second_learns_who_was_first(store: Store, first: str, second: str) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    run.decide(approval, first, by="user:ann")
    with pytest.raises(errors.AlreadyDecided) as refusal:
        run.decide(approval, second, by="user:bob", at=making.NOW + 1)
    assert (refusal.value.by, refusal.value.at_ms) == ("user:ann", making.NOW)
    assert refusal.value.state == approval_of(approval).state
    assert models.Decision.objects.count() == 1


def test_a_decision_on_something_else_is_refused(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    with pytest.raises(errors.DigestMismatch):
        run.decide(approval, fields={"request_digest": digests.digest("other")})
    assert approval_of(approval).state == "pending"


@pytest.mark.parametrize("decision", ["approve", "edit", "respond"])
def test_a_late_decision_is_refused(store: Store, decision: str) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    with pytest.raises(errors.RequestExpired):
        run.decide(approval, decision, at=making.LATER)
    run.decide(approval, decision, at=making.LATER - 1)


def test_a_rejection_may_come_late(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    run.decide(approval, "reject", at=making.LATER + 1)
    assert approval_of(approval).state == "rejected"


def test_an_approval_of_another_invocation_is_not_found(store: Store) -> None:
    first, second = making.running(store), making.running(store)
    approval = first.ask("c1")
    with pytest.raises(errors.NotFound):
        second.append(first.decided(approval))
    assert approval_of(approval).state == "pending"


def test_an_edit_replaces_what_will_run(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1", to="ann")
    edited: dict[str, Any] = {"arguments": {}, "nonce": "n"}
    digest = digests.digest(edited)
    run.decide(
        approval,
        "edit",
        fields={"arguments": {}, "bound": edited, "preview": {"kind": "x"}, "effective_digest": digest},
    )
    call, now = run.call("c1"), approval_of(approval)
    assert (call.state, call.edited, call.arguments, call.proposed) == ("approved", True, {}, {"to": "ann"})
    assert (call.bound, call.effective_digest) == (edited, digest)
    assert (now.state, now.effective_digest, json.loads(now.arguments)) == ("edited", digest, {})
    assert json.loads(now.proposed) == {"to": "ann"}
    run.append(making.intended("c1", approval=approval))


def test_an_edited_call_does_not_run_what_was_proposed(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1", to="ann")
    run.decide(
        approval, "edit", fields={"arguments": {"to": "bob"}, "bound": {}, "effective_digest": "sha256:2"}
    )
    with pytest.raises(errors.DigestMismatch):
        run.append(making.intended("c1", approval=approval, to="ann"))
    run.append(making.intended("c1", approval=approval, to="bob"))


def test_an_approval_expires_when_its_time_has_passed(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    expired = events.ApprovalExpired(approval=approval, call="c1")
    with pytest.raises(errors.StatusConflict):
        run.append(expired, at=making.LATER - 1)
    assert store.expired_requests(making.LATER - 1, 9) == []
    assert [str(found.id) for found in store.expired_requests(making.LATER, 9)] == [approval]
    run.append(expired, at=making.LATER)
    assert approval_of(approval).state == "expired"
    assert store.expired_requests(making.LATER, 9) == []
    with pytest.raises(errors.AlreadyDecided) as refusal:
        run.decide(approval)
    assert refusal.value.state == "expired"


def test_a_cancelled_approval_is_closed(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    closed = events.ApprovalCancelled(approval=approval, call="c1", reason="r")
    run.append(closed)
    assert (approval_of(approval).state, run.record().open_requests) == ("cancelled", 0)
    with pytest.raises(errors.StatusConflict):
        run.append(closed)


@pytest.mark.parametrize("decided", [False, True])
def test_a_superseded_approval_lets_the_call_ask_again(store: Store, decided: bool) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    if decided:
        run.decide(approval)
        run.append(making.intended("c1", approval=approval))
    run.append(events.ApprovalSuperseded(approval=approval, call="c1", reason="changed"))
    call = run.call("c1")
    assert (call.state, call.approval, approval_of(approval).state) == ("requested", None, "superseded")
    assert run.record().open_requests == 0
    with pytest.raises(errors.StatusConflict):
        run.append(making.intended("c1"))
    second = str(uuid4())
    run.append(making.approval_requested("c1", second))
    assert run.call("c1").approval == second
    run.calls[second] = "c1"
    run.decide(second)
    with pytest.raises(errors.DigestMismatch):
        run.append(making.intended("c1", approval=approval))
    run.append(making.intended("c1", approval=second))


def test_an_invocation_does_not_end_while_a_request_is_open(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    with pytest.raises(RuntimeError, match="close them"):
        run.end(Status.CANCELLED)
    run.append(
        events.ApprovalCancelled(approval=approval, call="c1", reason="r"),
        making.completed("c1", "cancelled"),
        events.InvocationCancelled(reason="TIMEOUT", by="user:ann"),
        to=Status.CANCELLED,
    )
    assert run.record().status is Status.CANCELLED


# Consuming an approval.


def test_an_approval_is_consumed_by_its_call(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1", to="ann")
    run.decide(approval)
    run.append(making.intended("c1", approval=approval, token=3, to="ann"), at=making.NOW + 9)
    now = approval_of(approval)
    assert (now.consumed_at, now.consumed_token, now.consumed_call) == (making.NOW + 9, 3, "c1")
    assert (run.call("c1").state, run.call("c1").attempts) == ("intended", 1)


def test_a_call_comes_back_to_its_approval_after_a_crash(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    run.decide(approval)
    run.append(making.intended("c1", approval=approval))
    run.append(making.intended("c1", approval=approval, token=2))
    assert run.call("c1").attempts == 2


@pytest.mark.parametrize("state", ["waiting", "rejected", "settled"])
def test_a_call_that_may_not_run_is_refused(store: Store, state: str) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    if state == "rejected":
        run.decide(approval, "reject")
    if state == "settled":
        run.decide(approval)
        run.append(making.intended("c1", approval=approval))
        run.append(making.completed("c1"))
    with pytest.raises(errors.StatusConflict):
        run.append(making.intended("c1", approval=approval))


def test_a_call_that_asked_does_not_run_without_its_approval(store: Store) -> None:
    run = making.running(store)
    first, second = run.ask("c1"), run.ask("c2")
    run.decide(first)
    run.decide(second)
    for wrong in (None, second):
        with pytest.raises(errors.DigestMismatch):
            run.append(making.intended("c1", approval=wrong))
    assert approval_of(second).consumed_at is None


def test_other_arguments_than_the_approved_do_not_run(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1", to="ann")
    run.decide(approval)
    with pytest.raises(errors.DigestMismatch):
        run.append(making.intended("c1", approval=approval, to="bob"))


def test_a_decided_digest_that_is_changed_behind_the_code_does_not_run(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    run.decide(approval)
    models.Approval.objects.filter(id=approval).update(effective_digest="sha256:0")
    with pytest.raises(errors.DigestMismatch):
        run.append(making.intended("c1", approval=approval))


# Calls.


def test_a_call_has_one_result(store: Store) -> None:
    run = making.running(store)
    run.append(making.requested("c1", to="ann"), making.intended("c1", to="ann"))
    run.append(making.completed("c1", "executed", {"sent": True}))
    call = run.call("c1")
    assert (call.state, call.outcome, call.content, call.attempts) == (
        "settled",
        "executed",
        {"sent": True},
        1,
    )
    with pytest.raises(errors.StatusConflict):
        run.append(making.completed("c1", "failed"))
    with pytest.raises(errors.StatusConflict):
        run.append(making.intended("c1", to="ann"))


def test_a_call_is_requested_once(store: Store) -> None:
    run = making.running(store)
    run.append(making.requested("c1"))
    with pytest.raises(errors.StatusConflict):
        run.append(making.requested("c1"))
    assert run.record().tool_calls == 1


def test_calls_come_in_the_order_of_the_turn(store: Store) -> None:
    run = making.running(store)
    run.append(*(making.requested(f"c{i}", index=9 - i) for i in range(3)), making.requested("d", turn=2))
    assert [call.id for call in store.calls(run.id, 1)] == ["c2", "c1", "c0"]
    assert [call.id for call in store.calls(run.id, 2)] == ["d"]
    assert store.calls(run.id, 3) == []


def test_a_name_that_no_database_holds_is_refused_by_both(store: Store) -> None:
    run = making.running(store)
    with pytest.raises(errors.NotCanonical):
        run.append(making.requested("c1", call_id="a\x00b"))


# Input requests.


def answered(request: str, call: str = "c1", by: str = "user:ann") -> events.Event:
    return events.InputAnswered(
        input=request,
        call=call,
        by=by,
        response_kind="ANSWER",
        request_identity="region",
        content={"region": "eu"},
        content_identity="sha256:c",
        receipt="receipt-1",
    )


def asked(run: making.Run) -> str:
    request = str(uuid4())
    run.append(making.requested("c1"), making.input_requested("c1", request=request))
    return request


def test_a_question_is_answered_once(store: Store) -> None:
    run = making.running(store)
    request = asked(run)
    assert (run.call("c1").state, run.record().open_requests) == ("waiting", 1)
    run.append(answered(request))
    found = models.InputRequest.objects.get()
    assert (found.state, found.closed_by, json.loads(found.answer)) == (
        "answered",
        "user:ann",
        {"region": "eu"},
    )
    assert (found.response_kind, found.content_identity, found.receipt) == ("ANSWER", "sha256:c", "receipt-1")
    with pytest.raises(errors.AlreadyDecided) as refusal:
        run.append(answered(request, by="user:bob"))
    assert refusal.value.by == "user:ann"


def test_a_second_open_question_is_refused(store: Store) -> None:
    run = making.running(store)
    request = asked(run)
    with pytest.raises(errors.StatusConflict):
        run.append(making.input_requested("c2"))
    run.append(answered(request))
    run.append(making.input_requested("c2"))


def test_a_late_answer_is_refused_and_a_late_refusal_is_not(store: Store) -> None:
    run = making.running(store)
    request = asked(run)
    with pytest.raises(errors.RequestExpired):
        run.append(answered(request), at=making.LATER)
    run.append(events.InputDeclined(input=request, call="c1", by="user:ann"), at=making.LATER)
    assert models.InputRequest.objects.get().state == "declined"


def test_a_question_expires_or_is_cancelled(store: Store) -> None:
    run = making.running(store)
    request = asked(run)
    with pytest.raises(errors.StatusConflict):
        run.append(events.InputExpired(input=request, call="c1"))
    assert [found.kind for found in store.expired_requests(making.LATER, 9)] == ["input"]
    run.append(events.InputExpired(input=request, call="c1"), at=making.LATER)
    second = str(uuid4())
    run.append(making.input_requested("c1", request=second))
    run.append(events.InputCancelled(input=second, call="c1", reason="r"))
    assert sorted(models.InputRequest.objects.values_list("state", flat=True)) == ["cancelled", "expired"]


def test_an_unknown_question_is_not_found(store: Store) -> None:
    run = making.running(store)
    with pytest.raises(errors.NotFound):
        run.append(answered(str(uuid4())))


# Who is woken.


def waiting(run: making.Run, *calls: str) -> list[str]:
    approvals = [run.ask(call) for call in calls]
    run.append(making.responded(1))
    run.suspend()
    return approvals


def is_claimable(run: making.Run) -> bool:
    return run.id in [claim.invocation for claim in run.store.claimable(making.NOW, 9)]


def test_a_suspended_invocation_waits_until_a_decided_call_can_run(store: Store) -> None:
    run = making.running(store)
    first, _ = waiting(run, "c1", "c2")
    assert not is_claimable(run)
    run.decide(first)
    assert is_claimable(run)


def test_a_rejected_call_wakes_nobody_while_others_wait(store: Store) -> None:
    run = making.running(store)
    first, second = waiting(run, "c1", "c2")
    run.append(run.decided(first, "reject"), making.completed("c1", "denied"))
    assert not is_claimable(run)
    run.append(run.decided(second, "reject"), making.completed("c2", "denied"))
    assert is_claimable(run)


def test_a_decision_without_a_result_wakes_a_worker_to_give_one(store: Store) -> None:
    run = making.running(store)
    first, _ = waiting(run, "c1", "c2")
    run.decide(first, "reject")
    assert is_claimable(run)


def test_an_answered_question_wakes_a_worker(store: Store) -> None:
    run = making.running(store)
    request = asked(run)
    run.append(making.responded(1))
    run.suspend()
    assert not is_claimable(run)
    run.append(answered(request), making.completed("c1", "answered"))
    assert is_claimable(run)


def test_open_requests_come_oldest_first(store: Store) -> None:
    run = making.running(store)
    request = str(uuid4())
    run.append(making.input_requested("c1", request=request))
    approval = run.ask("c2", at=making.NOW - 1)
    found = [(open.kind, open.id, open.call) for open in store.open_requests(run.id)]
    assert found == [("approval", approval, "c2"), ("input", request, "c1")]
