"""Providers, leases and exact sessions: families 13 to 15, 18 and 21 of the contract (reference: seed-contracts 18)."""

from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import invocations, queries
from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.ports import (
    StructuredCompletion,
)
from lifecycle_core.providers import shells
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, World, ask, calls, complete, emitting

pytestmark = pytest.mark.django_db

COMPLETION: Final = StructuredCompletion(result={"ok": True})


def provider(world: World) -> NativeProvider:
    found = world.providers["chat-completions"]
    assert isinstance(found, NativeProvider)
    return found


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
    dispatch = queries.dispatch(w.HOST, world.start(complete(), by=w.HOST))
    with pytest.raises(errors.CorrelationMismatch):
        invocations.start_dispatch(w.HOST, dispatch=dispatch)
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


def test_another_shared_session_than_the_bound_one_is_disposed_of_and_never_run(world: World) -> None:
    world.apply("worker", session='{ scope = "data-bound", isolation = "shared", source = "customer" }')
    provider = NativeProvider([emitting(COMPLETION)])
    world.providers["chat-completions"] = provider
    world.run(input={"customer": 7}, delivery="d1")
    provider.come_back_as = "native-other"
    second = world.run(input={"customer": 7}, delivery="d1")
    assert (world.status(second), world.disposition(second)["reason"]) == ("unknown", "CALL_INTERRUPTED")
    [restored] = provider.restored
    assert (restored.disposed, restored.secret, len(provider.opened)) == (1, "", 1)


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
