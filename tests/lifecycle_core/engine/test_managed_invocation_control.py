"""Answers, cancelling and retiring: families 16, 19, 22 and 24 to 27 of the contract (reference: seed-contracts 18)."""

from typing import Any
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, deliveries, queries, work
from lifecycle_core.contract import errors, ports
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

# 16


def test_an_answer_against_the_schema_restores_nothing_and_burns_nothing(world: World) -> None:
    invocation = world.run(calls(ask(schema={"type": "integer"})), complete())
    before = world.item(invocation)
    with pytest.raises(errors.SchemaInvalid):
        world.answer(world.input(invocation), "seven")
    assert world.item(invocation) == before
    assert work.claimable(10) == []


# 19


def test_an_invocation_that_waits_is_inspected_as_stopped(world: World) -> None:
    world.run(calls(ask()), delivery="d1")
    [delivery] = queries.deliveries(w.ANN).items
    assert delivery.process == "stopped"
    assert [item.status for item in delivery.invocations] == [w.AWAITING]


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
    assert cancellations.cancel(w.ANN, invocation) == before
