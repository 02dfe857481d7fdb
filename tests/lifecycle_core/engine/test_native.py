"""The families of tests of the managed invocation contract (reference: seed-contracts 18), by their names there."""

from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from lifecycle_core.application import bootstrap, deliveries, invocations, queries, work
from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.ports import (
    InputAsked,
    NewInvocation,
    Output,
    ProcessExited,
    ProviderFailed,
    ProviderUncertain,
    SessionDisposed,
    StructuredCompletion,
    TurnEnded,
)
from lifecycle_core.engine import admission
from lifecycle_core.providers import shells
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, World, ask, call, calls, complete, emitting

pytestmark = pytest.mark.django_db

COMPLETION: Final = StructuredCompletion(result={"ok": True})
ASKED: Final = InputAsked(call_id="c", request_identity="r", prompt="?", response_schema={})


def native(world: World, *happened: ports.NativeEvent) -> UUID:
    """Run an invocation whose session reports some events."""
    world.providers["chat-completions"] = NativeProvider([emitting(*happened)])
    return world.run()


def provider(world: World) -> NativeProvider:
    found = world.providers["chat-completions"]
    assert isinstance(found, NativeProvider)
    return found


# 2, 3, 4, 5, 6


def test_output_and_an_ended_turn_are_invalid_with_one_frame_and_one_lease(world: World) -> None:
    invocation = native(world, Output(content="I am "), Output(content="done."), TurnEnded())
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "TURN_ENDED_WITHOUT_DISPOSITION"
    [frame] = world.of_kind(invocation, "output.produced")
    assert (frame["sequence"], frame["content"]) == (1, "I am done.")
    assert [lease.released for lease in world.leases] == [1]
    assert provider(world).opened[0].disposed == 1


def test_one_structured_completion_completes_and_returns_the_result(world: World) -> None:
    invocation = native(world, COMPLETION, TurnEnded())
    assert world.status(invocation) == "completed"
    ended = {"kind": "completed", "result": {"ok": True}, "interactionReceipts": []}
    assert world.disposition(invocation) == ended


def test_two_completions_are_a_duplicate(world: World) -> None:
    invocation = native(world, COMPLETION, COMPLETION)
    assert world.disposition(invocation)["code"] == "DUPLICATE_COMPLETION"


def test_an_exited_process_failed_and_a_disposed_session_says_nothing(world: World) -> None:
    exited = native(world, ProcessExited(detail="signal 9"))
    assert world.status(exited) == "failed"
    assert world.disposition(exited)["code"] == "PROVIDER_EXITED"
    disposed = native(world, SessionDisposed())
    assert world.status(disposed) == "invalid"
    assert world.disposition(disposed)["code"] == "TURN_ENDED_WITHOUT_DISPOSITION"


# 7 and 20, as a native session reports them


def test_two_requests_of_a_native_session_are_a_failure_of_the_protocol(world: World) -> None:
    invocation = native(world, ASKED, ASKED)
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_PROTOCOL_ERROR"


@pytest.mark.parametrize("happened", [(COMPLETION, ASKED), (ASKED, COMPLETION)])
def test_a_completion_and_a_pending_request_are_invalid_in_either_order(
    world: World, happened: tuple[ports.NativeEvent, ...]
) -> None:
    invocation = native(world, *happened)
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "PENDING_INPUT_AT_COMPLETION"


# 8


@pytest.mark.parametrize("result", [{"ok": "yes"}, {}, None, [], "ok", True])
def test_a_result_against_the_schema_is_invalid(world: World, result: Any) -> None:
    world.apply(
        "worker",
        result_schema='{ type = "object", required = ["ok"], properties = { ok = { type = "boolean" } } }',
    )
    invocation = native(world, StructuredCompletion(result=result))
    assert world.status(invocation) == "invalid"
    assert world.disposition(invocation)["code"] == "RESULT_SCHEMA_INVALID"


# 10 and 23


def test_a_thrown_turn_fails_and_the_secret_is_nowhere(world: World) -> None:
    def throw(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.keep(f'{{"role":"user","content":"{session.secret}"}}'.encode())
        raise RuntimeError(f"401 for key {session.secret}")

    world.providers["chat-completions"] = NativeProvider([throw])
    invocation = world.run()
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert disposition["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert "[REDACTED]" in disposition["detail"]
    assert w.SECRET not in stored(world, invocation)
    assert "[REDACTED]" in stored(world, invocation)


def stored(world: World, invocation: UUID) -> str:
    """Return everything that is stored of an invocation, as text."""
    record = world.store.load(invocation)
    messages = world.store.messages(w.TENANT, record.affinity)
    parts = [
        repr(world.events(invocation)),
        repr(record),
        repr(world.item(invocation)),
        repr(messages),
        repr(world.approvals(invocation, state=None)),
        repr(world.inputs(invocation, state=None)),
        *(repr(world.store.calls(invocation, turn)) for turn in range(record.model_turns + 1)),
    ]
    return "\n".join(parts)


def test_a_failure_that_a_session_reports_carries_its_code(world: World) -> None:
    invocation = native(world, ProviderFailed(code="PROVIDER_TIMED_OUT", detail="no byte for 300 s"))
    assert world.disposition(invocation) == {
        "kind": "failed",
        "code": "PROVIDER_TIMED_OUT",
        "retry": "same-episode",
        "detail": "no byte for 300 s",
    }


@pytest.mark.parametrize("phase", ["startup", "result"])
def test_an_uncertain_provider_leaves_an_unknown_invocation(world: World, phase: Any) -> None:
    invocation = native(world, COMPLETION, ProviderUncertain(phase=phase, detail="no answer"))
    assert world.status(invocation) == "unknown"
    disposition = world.disposition(invocation)
    assert (disposition["owner"], disposition["reason"]) == ("invocation", "CALL_INTERRUPTED")


# 13


def test_an_absent_provider_is_refused_before_anything_is_stored(world: World) -> None:
    del world.providers["chat-completions"]
    with pytest.raises(errors.ProviderNotImplemented):
        world.start(complete())
    assert list(queries.invocations(w.ANN).items) == []
    assert list(queries.deliveries(w.ANN).items) == []
    assert world.leases == []


def test_a_credential_that_cannot_be_leased_fails_the_invocation_before_anything_is_opened(
    world: World,
) -> None:
    world.providers["chat-completions"] = NativeProvider([emitting(COMPLETION)])
    world.lease_fails = True
    invocation = world.run()
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("CREDENTIAL_UNAVAILABLE", "new-attempt")
    assert provider(world).opened == []


def test_an_episode_is_admitted_once(world: World) -> None:
    invocation = world.start(complete())
    record = world.store.load(invocation)
    agent = world.services.agent(w.TENANT, record.agent, record.agent_binding)
    dispatch = admission.compose(
        agent,
        record.action,
        {"script": "x"},
        delivery=record.delivery,
        thread=f"thread-{invocation}",
        attempt=1,
    )
    again = NewInvocation(
        id=uuid4(),
        tenant=w.TENANT,
        delivery=record.delivery,
        dispatch=dispatch,
        agent=record.agent,
        agent_binding=record.agent_binding,
        action=record.action,
        provider=record.provider,
        model=record.model,
        attempt=1,
        requester="user:ann",
    )
    with pytest.raises(errors.CorrelationMismatch):
        bootstrap.host().start(again)
    assert len(queries.invocations(w.ANN).items) == 1


@pytest.mark.parametrize(
    "fault", [RuntimeError("no route"), OSError("refused"), LookupError("no such model")]
)
def test_a_session_that_cannot_be_opened_fails_and_may_be_tried_anew(world: World, fault: Exception) -> None:
    class Closed(NativeProvider):
        def open(self, request: ports.SessionRequest) -> Any:
            raise fault

    world.providers["chat-completions"] = Closed([])
    invocation = world.run()
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("PROVIDER_PROTOCOL_ERROR", "new-attempt")
    assert [lease.released for lease in world.leases] == [1]


# 14


def test_a_turn_that_waits_is_resumed_in_the_same_session(world: World) -> None:
    invocation = world.run(calls(ask()), complete())
    session = world.store.load(invocation).session
    assert len(world.leases) == 1
    world.answer(world.input(invocation), "blue")
    world.settle()
    assert world.status(invocation) == "completed"
    kinds = world.kinds(invocation)
    assert (kinds.count("session.opened"), kinds.count("session.restored")) == (1, 1)
    [restored] = world.of_kind(invocation, "session.restored")
    assert (restored["opaque_identity"], restored["generation"]) == (session, 2)
    assert world.of_kind(invocation, "input.answered")[0]["receipt"].startswith("receipt-")
    # The two turns. The input and the answer must not carry the secret, and need no right to use it.
    assert [lease.released for lease in world.leases] == [1, 1]
    assert [known.released for known in world.known] == [1, 1]


# 15


def waiting_natively(world: World, **changes: Any) -> UUID:
    """Return an invocation of a native session that waits for an approval, whose provider then changes."""

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.call_tools([ports.ProposedCall(call_id="c1", tool=w.SEND, arguments={})])

    world.providers["chat-completions"] = NativeProvider([act])
    invocation = world.run()
    assert world.status(invocation) == w.AWAITING
    for name, value in changes.items():
        setattr(provider(world), name, value)
    return invocation


@pytest.mark.parametrize("fault", [LookupError("gone"), RuntimeError("crashed"), OSError("unreachable")])
def test_a_session_that_cannot_be_restored_makes_the_invocation_unknown(
    world: World, fault: Exception
) -> None:
    def restore(request: ports.SessionRequest) -> Any:
        raise fault

    invocation = waiting_natively(world, restore=restore)
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == "unknown"
    assert world.disposition(invocation)["reason"] == "CHILD_UNREACHABLE"
    assert len(provider(world).opened) == 1
    assert [lease.released for lease in world.leases] == [1, 1]
    assert world.tools[w.SEND].ran != [], "the decided call needs no session"


def test_another_session_than_the_one_asked_for_is_disposed_of_and_never_run(world: World) -> None:
    invocation = waiting_natively(world, come_back_as="native-other")
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == "unknown"
    [restored] = provider(world).restored
    assert (restored.disposed, restored.secret) == (1, "")
    assert len(provider(world).opened) == 1
    assert world.store.load(invocation).session == "native-1"


# 16


def test_an_answer_against_the_schema_restores_nothing_and_burns_nothing(world: World) -> None:
    invocation = world.run(calls(ask(schema={"type": "integer"})), complete())
    before = world.item(invocation)
    with pytest.raises(errors.SchemaInvalid):
        world.answer(world.input(invocation), "seven")
    assert world.item(invocation) == before
    assert work.claimable(10) == []


# 18


def test_two_episodes_with_equal_data_share_one_session(world: World) -> None:
    world.apply("worker", session='{ scope = "data-bound", isolation = "shared", source = "customer" }')
    provider = NativeProvider([emitting(COMPLETION)])
    world.providers["chat-completions"] = provider
    given: dict[str, Any] = {"input": {"customer": 7}, "delivery": "d1"}
    first, second = world.run(**given), world.run(**given)
    assert world.status(first) == world.status(second) == "completed"
    assert len(provider.opened) == 1
    assert [session.opaque_identity for session in provider.restored] == ["native-1"]
    assert world.store.load(second).generation == 2
    other = world.run(input={"customer": 8}, delivery="d1")
    assert world.store.load(other).generation == 1
    assert len(provider.opened) == 2


def test_two_episodes_that_start_in_one_new_session_at_once_open_it_once(world: World) -> None:
    world.apply("worker", session='{ scope = "data-bound", isolation = "shared", source = "customer" }')
    provider = world.providers["chat-completions"] = NativeProvider([emitting(COMPLETION)])
    given: dict[str, Any] = {"input": {"customer": 7}, "delivery": "d1"}
    first, second = world.start(**given), world.start(**given)

    def overtake(change: ports.Change) -> None:
        if any(fact.kind == "session.opened" for fact in change.events):
            world.store.before = lambda change: None
            world.drive(second, "w2")

    world.store.before = overtake
    world.drive(first)
    assert (world.status(first), world.status(second)) == ("completed", "starting")
    assert (len(provider.opened), world.kinds(second)) == (1, ["invocation.admitted"])
    world.settle()
    assert world.status(second) == "completed"
    assert len(provider.opened) == 1
    assert world.store.load(first).session == world.store.load(second).session
    assert (world.store.load(first).generation, world.store.load(second).generation) == (1, 2)


def test_a_shared_session_that_cannot_be_restored_is_never_replaced_by_a_fresh_one(world: World) -> None:
    world.apply("worker", session='{ scope = "data-bound", isolation = "shared", source = "customer" }')
    provider = NativeProvider([emitting(COMPLETION)])
    world.providers["chat-completions"] = provider
    world.run(input={"customer": 7}, delivery="d1")

    def restore(request: ports.SessionRequest) -> Any:
        raise LookupError("gone")

    provider.restore = restore  # type: ignore[method-assign]
    second = world.run(input={"customer": 7}, delivery="d1")
    assert world.status(second) == "unknown"
    assert world.disposition(second)["reason"] == "CHILD_UNREACHABLE"
    assert len(provider.opened) == 1


# 19


def test_an_invocation_that_waits_is_inspected_as_stopped(world: World) -> None:
    world.run(calls(ask()), delivery="d1")
    [delivery] = queries.deliveries(w.ANN).items
    assert delivery.process == "stopped"
    assert [item.status for item in delivery.invocations] == [w.AWAITING]


# 20


def test_a_request_without_the_capability_fails_for_good(world: World) -> None:
    world.apply("worker", capabilities='["structured-completion"]')
    invocation = world.run(calls(ask()), complete())
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("PROVIDER_PROTOCOL_ERROR", "never")
    assert "action-interaction" in disposition["detail"]
    assert world.inputs(invocation, state=None) == []
    assert [outcome for outcome, _ in world.results(invocation).values()] == ["cancelled"]


# 21


def test_a_shell_refuses_before_any_effect(world: World) -> None:
    world.providers["chat-completions"] = shells.Shell("chat-completions")
    invocation = world.run(complete())
    assert world.status(invocation) == "failed"
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("PROVIDER_NOT_IMPLEMENTED", "never")
    assert "session.opened" not in world.kinds(invocation)


def test_a_provider_that_is_gone_when_an_answer_comes_is_no_other_provider(world: World) -> None:
    invocation = world.run(calls(ask()), complete())
    world.answer(world.input(invocation), "blue")
    del world.providers["chat-completions"]
    world.settle()
    assert world.status(invocation) == "failed"
    assert world.disposition(invocation)["code"] == "PROVIDER_NOT_IMPLEMENTED"


# 22


def test_a_stale_request_identity_is_a_mismatch_and_restores_nothing(world: World) -> None:
    invocation = world.run(calls(ask("q1")), complete())
    with pytest.raises(errors.CorrelationMismatch):
        world.answer(world.input(invocation), "blue", request_identity="q0")
    assert world.status(invocation) == w.AWAITING
    assert work.claimable(10) == []


# 24, 25, 27


def retire(delivery: str, **given: Any) -> Any:
    return deliveries.retire(w.ANN, UUID(delivery), **{"authorization": "a1", **given})


def test_a_delivery_is_retired_once_and_replayed(world: World) -> None:
    invocation = world.run(complete(), delivery="d1")
    [delivery] = queries.deliveries(w.ANN).items
    affinity = world.store.load(invocation).affinity
    assert world.store.affinity(w.TENANT, affinity) is not None
    first = retire(delivery.id)
    assert first.invocations == 1
    assert retire(delivery.id) == first
    assert world.store.affinity(w.TENANT, affinity) is None
    with pytest.raises(errors.NotFound):
        world.item(invocation)
    with pytest.raises(errors.RetirementNotAuthorized):
        retire(delivery.id, authorization="a2")


@pytest.mark.parametrize("stale", ["manifest_binding", "activation_binding"])
def test_a_stale_binding_retires_nothing(world: World, stale: str) -> None:
    world.run(complete(), delivery="d1")
    [delivery] = queries.deliveries(w.ANN).items
    with pytest.raises(errors.RetirementNotAuthorized):
        retire(delivery.id, **{stale: "sha256:" + "0" * 64})
    assert queries.delivery(w.ANN, UUID(delivery.id)) == delivery
    retire(delivery.id, **{stale: getattr(delivery, stale)})


def test_a_retired_delivery_is_not_started_again(world: World) -> None:
    world.run(complete(), delivery="d1")
    [delivery] = queries.deliveries(w.ANN).items
    retire(delivery.id)
    with pytest.raises(errors.DeliveryRetired):
        world.start(complete(), delivery="d1")


def test_an_invocation_that_waits_is_retired_with_its_questions(world: World) -> None:
    invocation = world.run(calls(ask(), call(w.SEND, "c1")), delivery="d1")
    approval = world.approval(invocation)
    [delivery] = queries.deliveries(w.ANN).items
    retire(delivery.id)
    with pytest.raises(errors.NotFound):
        world.decide(approval)
    assert work.claimable(10) == []


@pytest.mark.parametrize("busy", ["starting", "unknown"])
def test_what_starts_or_is_unknown_is_not_retired(world: World, busy: str) -> None:
    invocation = world.start(calls(call(w.LOOK, "c1")), delivery="d1")
    if busy == "unknown":
        world.tools[w.LOOK].act = _lose
        world.drive(invocation)
    [delivery] = queries.deliveries(w.ANN).items
    with pytest.raises(errors.DeliveryBusy):
        retire(delivery.id)
    assert world.status(invocation) == busy


def _lose(arguments: Any, context: Any) -> Any:
    raise ports.OutcomeUnknown("the line went dead")


def test_cancelling_what_is_completed_keeps_it(world: World) -> None:
    invocation = world.run(complete())
    before = world.item(invocation)
    assert invocations.cancel(w.ANN, invocation) == before


# Whatever a session or lease does when it is given back says nothing about the turn.


def test_a_session_that_cannot_be_disposed_of_has_completed_all_the_same(world: World) -> None:
    class Sticky(w.NativeSession):
        def dispose(self) -> None:
            raise OSError("still busy")

    class Stuck(NativeProvider):
        def open(self, request: ports.SessionRequest) -> Any:
            return Sticky("native-1", emitting(COMPLETION))

    world.providers["chat-completions"] = Stuck([])
    assert world.status(world.run()) == "completed"
    assert [lease.released for lease in world.leases] == [1]
