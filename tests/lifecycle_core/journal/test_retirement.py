"""Retirement deletes a delivery with all that belongs to it, once, and leaves a tombstone."""

import json
from uuid import uuid4

import pytest
from django.apps import apps

from lifecycle_core.contract import errors, events, ports
from lifecycle_core.contract.status import Status
from lifecycle_core.journal import models
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db
KEPT = {"Tombstone", "FeedHead", "Event"}


def full(store: Store) -> making.Run:
    """Make an invocation that has left rows in every table, and waits for a decision and an answer."""
    run = making.running(store, making.new(value="x" * 70_000))
    decided = run.ask("c1", to="ann")
    run.ask("c2", to="bob")
    run.append(making.input_requested("c3"))
    run.append(
        making.output(1),
        messages=ports.SessionMessages(affinity=run.affinity, start=0, bodies=(b"hello", b"y" * 70_000)),
    )
    run.suspend()
    command = ports.Command(key="k", body_digest="sha256:0")
    store.once(making.TENANT, "user:ann", command, lambda: run.decide(decided).version, at_ms=making.NOW)
    return run


def test_nothing_of_the_delivery_is_left_but_the_tombstone(store: Store) -> None:
    run = full(store)
    filled = {
        model.__name__
        for model in apps.get_app_config("journal").get_models()
        if model._default_manager.exists()
    }
    assert filled == {model.__name__ for model in apps.get_app_config("journal").get_models()} - {"Tombstone"}
    run.retire()
    left = {
        model.__name__
        for model in apps.get_app_config("journal").get_models()
        if model._default_manager.exists()
    }
    assert left == KEPT
    assert list(models.Event.objects.values_list("kind", flat=True)) == ["delivery.retired"]


def test_the_tombstone_says_what_was_there(store: Store) -> None:
    run = full(store)
    record = run.record()
    head = models.Invocation.objects.get(id=run.id).chain_head
    delivery = run.delivery
    tombstone = models.Tombstone.objects.get(id=run.retire())
    assert tombstone.id == delivery
    assert (tombstone.delivery, tombstone.authorization) == (record.delivery.identity, "order-1")
    assert (tombstone.retired_by, tombstone.retired_at) == ("user:carl", making.LATER)
    assert (tombstone.invocations, tombstone.events, tombstone.closed_requests) == (1, record.version, 2)
    assert json.loads(tombstone.fact) == {
        "owner": "invocation",
        "authorization": "order-1",
        "state": "retired",
    }
    assert json.loads(tombstone.chain_heads) == {str(run.id): head}
    assert json.loads(tombstone.decisions) == {"approve": 1}
    assert len(json.loads(tombstone.decision_hashes)) == 1


def test_the_same_authorization_is_answered_again_and_another_is_refused(store: Store) -> None:
    run = full(store)
    delivery = run.delivery
    run.retire()
    order = {"by": "user:eve", "at_ms": making.LATER + 1}
    assert store.retire(making.TENANT, delivery, authorization="order-1", **order) == delivery  # type: ignore[arg-type]
    with pytest.raises(errors.RetirementNotAuthorized):
        store.retire(making.TENANT, delivery, authorization="order-2", **order)  # type: ignore[arg-type]
    assert models.Tombstone.objects.get().retired_by == "user:carl"
    assert models.Event.objects.count() == 1


@pytest.mark.parametrize("status", [Status.STARTING, Status.RUNNING, Status.UNKNOWN])
def test_a_busy_delivery_stays(store: Store, status: Status) -> None:
    run = making.running(store)
    run.append(making.output(1), to=status)
    with pytest.raises(errors.DeliveryBusy):
        run.retire()
    assert run.record().status is status
    assert not models.Tombstone.objects.exists()


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.INVALID, Status.CANCELLED])
def test_an_ended_delivery_can_be_retired(store: Store, status: Status) -> None:
    run = making.running(store)
    run.end(status)
    run.retire()
    with pytest.raises(errors.NotFound):
        run.record()


@pytest.mark.parametrize("binding", ["manifest_binding", "activation_binding"])
def test_bindings_must_be_those_of_the_delivery(store: Store, binding: str) -> None:
    run = making.running(store)
    run.end()
    with pytest.raises(errors.RetirementNotAuthorized):
        run.retire(**{binding: "another"})
    run.retire(manifest_binding="m1", activation_binding="a1")


def test_another_tenant_finds_no_delivery(store: Store) -> None:
    run = making.running(store)
    run.end()
    run.tenant = "other"
    with pytest.raises(errors.NotFound):
        run.retire()


def test_an_unknown_delivery_cannot_be_retired(store: Store) -> None:
    with pytest.raises(errors.NotFound):
        store.retire(making.TENANT, uuid4(), authorization="a", by="user:carl", at_ms=making.NOW)


def test_a_retired_delivery_cannot_start_again(store: Store) -> None:
    run = making.running(store)
    ref = run.record().delivery
    run.end()
    run.retire()
    with pytest.raises(errors.DeliveryRetired):
        making.admit(store, making.new(ref))
    with pytest.raises(errors.DeliveryRetired):
        making.admit(store, making.new(making.delivery(ref.identity, manifest="other")))
    assert not models.Delivery.objects.exists()


def test_nothing_late_revives_a_retired_invocation(store: Store) -> None:
    run = full(store)
    approval = str(models.Approval.objects.filter(state="pending").values_list("id", flat=True)[0])
    late = run.decided(approval)
    run.retire()
    with pytest.raises(errors.NotFound):
        run.append(late)
    with pytest.raises(errors.NotFound):
        run.append(events.LateResult(what="w", detail=None))
    assert not store.renew(run.id, run.token, 1000, making.NOW)


def test_other_deliveries_stay_as_they_are(store: Store) -> None:
    kept, gone = full(Store()), making.running(store)
    before = kept.record(), kept.store.messages(making.TENANT, kept.affinity)
    gone.end()
    gone.retire()
    assert (kept.record(), kept.store.messages(making.TENANT, kept.affinity)) == before


def test_a_key_whose_answer_was_retired_is_free_again(store: Store) -> None:
    run = full(store)
    command = ports.Command(key="k", body_digest="sha256:0")
    assert store.answered(making.TENANT, "user:ann", command)
    run.retire()
    assert store.answered(making.TENANT, "user:ann", command) is None
