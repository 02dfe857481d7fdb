"""The families around a turn, for every provider: refused starts, what breaks in the middle, responses, cancels, retirement.

Reference: seed-contracts 18.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import OperationalError

from lifecycle_core.application import (
    bootstrap,
    cancellations,
    continuing,
    deliveries,
    hosting,
    invocations,
    queries,
    work,
)
from lifecycle_core.contract import digests, errors, events
from lifecycle_core.contract.errors import Refused
from lifecycle_core.contract.invocation import Dispatch
from lifecycle_core.providers.dsh import provider as dsh
from lifecycle_core.providers.dsh.storage import Storage
from tests.lifecycle_core.engine import managed as m
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.managed import Managed
from tests.lifecycle_core.engine.test_admission import BROKEN, failing, new
from tests.lifecycle_core.engine.test_persistence_fails import failing_at
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

OTHER: Final = "sha256:" + "0" * 64
KEEPING: Final = {
    "workspace": '"desk"',
    "access": '[{ mode = "read", path = "**" }, { mode = "write", path = "notes/**" }]',
}


def ended(world: World, invocation: UUID) -> tuple[str, str]:
    return world.status(invocation), str(world.disposition(invocation)["code"])


# 5: what ends without a word.


@m.on(dsh.KEY)
def test_a_process_that_exits_in_the_middle_of_a_turn_is_provider_exited(
    world: World, agent: Managed
) -> None:
    def die(arguments: Any, context: Any) -> str:
        session: Any = agent.provider.sessions[-1]
        session._harness.client._proc.kill()
        return "seen"

    world.tools[w.LOOK].act = die
    invocation = agent.run(calls(call(w.LOOK)), complete())
    assert ended(world, invocation) == ("failed", "PROVIDER_EXITED")
    assert "invocation.completed" not in world.kinds(invocation)
    assert [lease.released for lease in world.leases] == [1]


# 11: a journal that is away.


@m.everywhere
def test_persisting_that_throws_in_a_turn_leaves_unknown_and_repeats_nothing(
    world: World, agent: Managed
) -> None:
    world.gates[:] = [w.AllowGate()]
    failing_at(world, events.ToolCompleted)
    invocation = world.start(calls(call(w.SEND, to="x")), complete())
    with pytest.raises(OperationalError):
        world.drive(invocation)
    world.die()
    world.settle()
    disposition = world.disposition(invocation)
    assert (world.status(invocation), disposition["owner"], disposition["reason"]) == (
        "unknown",
        "invocation",
        "CALL_INTERRUPTED",
    )
    assert world.tools[w.SEND].arguments == [{"to": "x"}]
    assert {lease.released for lease in world.leases} == {1}


# 12, 13 and 17: what is refused, or never comes to be.


def composed() -> Dispatch:
    given: Any = {"script": "none"}
    return invocations.compose(w.ANN, agent="worker", action=w.ACTION, input=given, delivery="d1")


@m.everywhere
def test_fourteen_broken_dispatches_for_a_provider_open_nothing_in_it(world: World, agent: Managed) -> None:
    agent.apply(**KEEPING)
    for number, break_it, refusal in BROKEN:
        broken = break_it(composed())
        assert failing(broken) == [number]
        with pytest.raises(Refused) as refused:
            hosting.host().check(new(broken))
        assert type(refused.value) is refusal
    assert (agent.asked, world.leases) == ((0, 0), [])
    world.scripts["none"] = [complete()]
    invocations.start_dispatch(w.ANN, dispatch=composed().as_json())
    world.settle()
    assert (agent.asked, len(world.leases)) == ((1, 0), 1), "the same, unbroken, opens a session"


@m.everywhere
def test_a_stale_plan_binding_for_a_provider_opens_nothing_in_it(world: World, agent: Managed) -> None:
    stale = composed().plan
    agent.apply(instructions='"Be brief."')
    with pytest.raises(errors.ExecutorBindingMismatch):
        invocations.start_dispatch(w.ANN, dispatch=dataclasses.replace(composed(), plan=stale).as_json())
    world.settle()
    assert (agent.asked, world.leases) == ((0, 0), [])


@m.everywhere
def test_a_provider_that_is_gone_starts_nothing_and_an_episode_starts_once(
    world: World, agent: Managed
) -> None:
    once, gone = composed(), composed()
    invocations.start_dispatch(w.ANN, dispatch=once.as_json())
    with pytest.raises(errors.CorrelationMismatch):
        invocations.start_dispatch(w.ANN, dispatch=once.as_json())
    del world.providers[agent.provider.key]
    with pytest.raises(errors.ProviderNotImplemented):
        invocations.start_dispatch(w.ANN, dispatch=gone.as_json())
    assert (len(queries.invocations(w.ANN).items), agent.asked) == (1, (0, 0))


@m.everywhere
def test_a_session_that_does_not_open_fails_and_may_be_tried_anew(world: World, agent: Managed) -> None:
    agent.shut()
    invocation = agent.run(complete())
    assert ended(world, invocation) == ("failed", "PROVIDER_PROTOCOL_ERROR")
    assert world.disposition(invocation)["retry"] == "new-attempt"
    assert agent.asked == (1, 0)
    assert list(agent.server.received) == []
    assert [lease.released for lease in world.leases] == [1]


# 16 and 22: responses.


def respond(invocation: UUID, content: Any, request: str = "q1") -> None:
    continuing.continue_with_input(
        w.BOB,
        invocation,
        episode=queries.dispatch(w.ANN, invocation)["episode"],
        kind="ANSWER",
        request_identity=request,
        content=content,
        content_identity=digests.digest(content),
    )


@m.everywhere
def test_a_response_to_another_question_is_a_mismatch_and_one_that_does_not_fit_is_invalid_and_neither_restores(
    world: World, agent: Managed
) -> None:
    invocation = agent.run(calls(ask("q1")), complete())
    with pytest.raises(errors.CorrelationMismatch):
        respond(invocation, "blue", request="q0")
    world.settle()
    assert (world.status(invocation), agent.asked) == (w.AWAITING, (1, 0))
    respond(invocation, 7)
    world.settle()
    assert ended(world, invocation) == ("invalid", "INTERACTION_CORRELATION_INVALID")
    assert agent.asked == (1, 0)


# 24, 25 and 27: what is cancelled and retired.


@dataclass(frozen=True)
class Forgetting(Storage):
    """The native sessions of this core, which remember what they were told to forget."""

    forgotten: list[str] = field(default_factory=list)

    def forget(self, tenant: str, affinity: str) -> None:
        self.forgotten.append(affinity)
        super().forget(tenant, affinity)


@pytest.fixture
def natives(agent: Managed, monkeypatch: pytest.MonkeyPatch) -> Forgetting:
    made = Forgetting(agent.folder)
    monkeypatch.setattr(bootstrap, "native_sessions", lambda: made)
    return made


@m.everywhere
def test_what_waits_is_cancelled_inspected_and_retired_and_only_under_its_own_names(
    world: World, agent: Managed
) -> None:
    invocation = agent.run(calls(ask()), complete(), delivery="d1")
    [delivery] = queries.deliveries(w.ANN).items
    assert delivery.process == "stopped"
    with pytest.raises(errors.NotFound):
        deliveries.cancel(w.ANN, invocation)
    with pytest.raises(errors.RetirementNotAuthorized):
        deliveries.retire(w.ANN, UUID(delivery.id), authorization="a1", manifest_binding=OTHER)
    assert world.status(invocation) == w.AWAITING
    assert deliveries.cancel(w.ANN, UUID(delivery.id)).process == "stopped"
    assert ended(world, invocation) == ("cancelled", "PROVIDER_CANCELLED")
    assert work.claimable(10) == []
    deliveries.retire(
        w.ANN, UUID(delivery.id), authorization="a1", manifest_binding=delivery.manifest_binding
    )
    assert queries.invocations(w.ANN).items == []
    assert agent.asked == (1, 0)


@m.everywhere
def test_what_completed_stays_so_when_cancelled_and_is_retired_once_with_its_native_session(
    world: World, agent: Managed, natives: Forgetting, django_capture_on_commit_callbacks: Any
) -> None:
    invocation = agent.run(complete(), delivery="d1")
    before = world.item(invocation)
    assert cancellations.cancel(w.ANN, invocation) == before
    assert before.status == "completed"
    delivery, affinity = UUID(before.delivery_id), world.store.load(invocation).affinity
    assert len(natives.files()) == (agent.provider.key == dsh.KEY)
    with django_capture_on_commit_callbacks(execute=True):
        fact = deliveries.retire(w.ANN, delivery, authorization="a1")
        assert deliveries.retire(w.ANN, delivery, authorization="a1") == fact
        with pytest.raises(errors.RetirementNotAuthorized):
            deliveries.retire(w.ANN, delivery, authorization="a2")
    assert natives.forgotten == [affinity]
    assert (natives.files(), world.store.affinity(w.TENANT, affinity)) == ({}, None)
    with pytest.raises(errors.NotFound):
        world.item(invocation)
