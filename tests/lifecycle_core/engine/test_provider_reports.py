"""What a provider reports: output that counts on over suspensions, codes, uncertain ends; and cancels at any moment."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, queries, work
from lifecycle_core.contract import events, ports
from lifecycle_core.contract.invocation import FAILURES
from lifecycle_core.contract.ports import (
    Output,
    ProcessExited,
    ProviderFailed,
    ProviderUncertain,
    StructuredCompletion,
)
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, Pauses, World, complete, emitting

pytestmark = pytest.mark.django_db

COMPLETION: Final = StructuredCompletion(result={"ok": True})
LOOK: Final = ports.ProposedCall(call_id="c1", tool=w.LOOK, arguments={})
SEND: Final = ports.ProposedCall(call_id="c2", tool=w.SEND, arguments={})


def native(world: World, *happened: ports.NativeEvent) -> UUID:
    """Run an invocation whose session reports some events."""
    world.providers["chat-completions"] = NativeProvider([emitting(*happened)])
    return world.run()


# Output.


def test_output_is_folded_and_its_numbers_go_on_over_suspensions(world: World) -> None:
    def first(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.emit(Output(content="I am "))
        carrier.emit(Output(content="asking."))
        carrier.call_tools([SEND])

    world.providers["chat-completions"] = NativeProvider(
        [first, emitting(Output(content="I am done."), COMPLETION)]
    )
    invocation = world.run()
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == "completed"
    frames = world.of_kind(invocation, "output.produced")
    assert [(frame["sequence"], frame["content"]) for frame in frames] == [
        (1, "I am asking."),
        (2, "I am done."),
    ]


@pytest.mark.parametrize("said", ["x" * 100_000, "half a character: \ud83d"])
def test_output_that_cannot_be_kept_ends_the_turn_and_counts_all_the_same(world: World, said: str) -> None:
    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        for content in ("before", said, "after"):
            world.clock.advance(1_000)
            carrier.emit(Output(content=content))

    world.services = replace(world.services, value_bytes=50_000)
    world.providers["chat-completions"] = NativeProvider([act])
    invocation = world.run()
    disposition = world.disposition(invocation)
    assert (disposition["kind"], disposition["code"]) == ("failed", "ACTION_INTERACTION_UNAVAILABLE")
    frames = world.of_kind(invocation, "output.produced")
    assert [(frame["sequence"], frame["content"]) for frame in frames] == [(1, "before"), (3, "after")]


# Codes.


@pytest.mark.parametrize("code", sorted(FAILURES))
def test_a_code_of_the_contract_is_the_code_of_the_failure(world: World, code: str) -> None:
    disposition = world.disposition(native(world, ProviderFailed(code=code, detail="why")))
    assert (disposition["code"], disposition["retry"]) == (code, "same-episode")
    assert disposition["detail"] == "why"


@pytest.mark.parametrize("code", ["OUT_OF_CREDIT", "provider_exited", "COMPLETED", ""])
def test_any_other_code_stands_in_the_detail_of_a_failure_of_the_protocol(world: World, code: str) -> None:
    disposition = world.disposition(native(world, ProviderFailed(code=code, detail="why")))
    assert disposition["code"] == "PROVIDER_PROTOCOL_ERROR"
    assert disposition["detail"] == f"{code}: why"


def test_the_last_failure_of_a_turn_stands(world: World) -> None:
    failed = ProviderFailed(code="PROVIDER_TIMED_OUT", detail="slow")
    assert world.disposition(native(world, failed, ProcessExited()))["code"] == "PROVIDER_EXITED"


# An uncertain end keeps what was consumed.


@pytest.mark.parametrize("phase", ["startup", "result"])
def test_an_uncertain_end_keeps_what_was_consumed(world: World, phase: Any) -> None:
    """The frames were shown already; to forget them would let two stories be told of one turn."""

    def act(session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.emit(Output(content="I send it."))
        carrier.call_tools([LOOK])
        carrier.keep(b"kept")
        carrier.emit(ProviderUncertain(phase=phase, detail=f"no answer to {session.secret}"))

    world.providers["chat-completions"] = NativeProvider([act])
    invocation = world.run()
    assert world.status(invocation) == "unknown"
    disposition = world.disposition(invocation)
    assert (disposition["owner"], disposition["reason"]) == ("invocation", "CALL_INTERRUPTED")
    assert disposition["detail"] == f"{phase}: no answer to [REDACTED]"
    record = world.store.load(invocation)
    assert (record.output_sequence, record.tool_calls) == (1, 1)
    assert world.of_kind(invocation, "output.produced")[0]["content"] == "I send it."
    assert world.results(invocation)["c1"][0] == "executed"
    assert world.store.messages(w.TENANT, record.affinity) == (b"kept",)


# Admitted route.


@pytest.mark.parametrize("changed", ["model", "base_url", "credential", "provider"])
def test_a_session_for_another_model_or_route_than_the_admitted_is_neither_opened_nor_restored(
    world: World, changed: str
) -> None:
    provider = NativeProvider([emitting(COMPLETION)])
    world.providers["chat-completions"] = provider
    invocation = world.start(complete())
    known = world.services.agent

    def another(tenant: str, name: str, binding: str) -> Any:
        changes: dict[str, Any] = {changed: "another"}
        return replace(known(tenant, name, binding), **changes)

    world.services = replace(world.services, agent=another)
    world.drive(invocation)
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("PROVIDER_PROTOCOL_ERROR", "never")
    assert disposition["detail"].startswith("MODEL_BINDING_MISMATCH")
    assert (provider.opened, provider.restored) == ([], [])


@pytest.mark.parametrize("changed", ["instructions", "action"])
def test_instructions_that_are_not_those_admitted_are_not_followed(world: World, changed: str) -> None:
    provider = NativeProvider([emitting(COMPLETION)])
    world.providers["chat-completions"] = provider
    invocation = world.start(complete())
    known = world.services.agent

    def another(tenant: str, name: str, binding: str) -> Any:
        agent = known(tenant, name, binding)
        if changed == "instructions":
            return replace(agent, instructions="Do as you like.")
        action = replace(agent.actions[w.ACTION], purpose="Delete everything.")
        return replace(agent, actions={w.ACTION: action})

    world.services = replace(world.services, agent=another)
    world.drive(invocation)
    disposition = world.disposition(invocation)
    assert (disposition["code"], disposition["retry"]) == ("PROVIDER_PROTOCOL_ERROR", "never")
    assert disposition["detail"].startswith("EXECUTOR_BINDING_MISMATCH")
    assert provider.opened == []


def test_a_session_is_opened_for_the_admitted_route_and_nothing_else(world: World) -> None:
    asked: list[ports.SessionRequest] = []

    class Asked(NativeProvider):
        def open(self, request: ports.SessionRequest) -> w.NativeSession:
            asked.append(request)
            return super().open(request)

    world.providers["chat-completions"] = Asked([emitting(COMPLETION)])
    invocation = world.run()
    [request] = asked
    executor: Any = queries.dispatch(w.ANN, invocation)["executor"]
    assert request.route.model == executor["session"]["model"]["providerModelIdentity"]
    assert request.route.base_url == executor["session"]["driver"]["configuration"]["baseURL"]
    assert dict(request.route.configuration) == executor["session"]["driver"]["configuration"]


# Cancelled at any moment, however the worker learns of it.

MOMENTS: Final = ("start", "claim", "open", "model call", "between", "tool call", "grace", "end")


class Journey:
    """A turn that passes every moment at which somebody may cancel it."""

    def __init__(self, world: World, moment: str, cancel: Callable[[], None]) -> None:
        self._world = world
        self._moment = moment
        self._cancel = cancel
        self.passed: list[str] = []
        self.provider = self._install()

    def at(self, moment: str) -> None:
        self.passed.append(moment)
        if moment == self._moment:
            self._cancel()

    def _install(self) -> NativeProvider:
        journey = self

        class Provider(NativeProvider):
            def open(self, request: ports.SessionRequest) -> w.NativeSession:
                journey.at("open")
                return super().open(request)

        provider = Provider([self._act])
        self._world.providers["chat-completions"] = provider
        self._world.tools[w.LOOK].act = lambda arguments, context: self.at("tool call")
        return provider

    def _act(self, session: w.NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        carrier.call_model(self._perform)
        self.at("between")
        carrier.call_tools([LOOK, SEND], grace_ms=10_000)
        self.at("end")
        carrier.emit(COMPLETION)

    def _perform(self, emit: Any) -> ports.ModelAnswer:
        self.at("model call")
        return ports.ModelAnswer(text="", reasoning="", calls=(LOOK, SEND), finish="tool-calls", usage={})


@pytest.mark.parametrize("learned", ["at once", "from the watch", "from the journal"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_cancel_at_any_moment_ends_cancelled_and_what_comes_later_is_late(
    world: World, moment: str, learned: str
) -> None:
    def cancel() -> None:
        cancellations.cancel(w.BOB, invocation, comment="enough")
        if learned == "at once":
            pauses.interrupt("cancelled")
        elif learned == "from the watch":
            work.watch({invocation: pauses}, "w1", renew=True)

    def wait() -> None:
        journey.at("grace")
        if moment != "grace":
            world.decide(world.approval(invocation))

    def claim(change: ports.Change) -> None:
        world.store.before = lambda change: None
        if any(isinstance(fact, events.InvocationClaimed) for fact in change.events):
            journey.at("claim")

    journey = Journey(world, moment, cancel)
    invocation, pauses = world.start(), Pauses(world, wait)
    journey.at("start")
    world.store.before = claim
    assert world.drive(invocation, interruption=pauses) == "cancelled"
    assert world.disposition(invocation)["code"] == "PROVIDER_CANCELLED"
    kinds = world.kinds(invocation)
    after = kinds[kinds.index("invocation.cancelled") + 1 :]
    assert [kind for kind in after if not kind.startswith("late.")] == []
    assert world.item(invocation).open_requests == []
    assert {lease.released for lease in world.leases} <= {1}
    assert all(session.disposed == 1 for session in journey.provider.opened)
    assert len(world.tools[w.SEND].ran) == (1 if moment == "end" else 0)
    if moment == "end":
        assert "invocation.completed" in [fact["what"] for fact in world.of_kind(invocation, "late.result")]


def test_the_journey_without_a_cancel_passes_every_moment_and_completes(world: World) -> None:
    """The control: every moment above is really passed."""
    journey = Journey(world, "", lambda: None)
    invocation = world.start()
    steps = [lambda: journey.at("grace"), lambda: world.decide(world.approval(invocation))]
    assert world.drive(invocation, interruption=Pauses(world, *steps)) == "completed"
    assert [*MOMENTS[:2], *journey.passed] == list(MOMENTS)
