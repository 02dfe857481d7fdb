"""The store appends whole changes or nothing."""

import dataclasses
from uuid import uuid4

import pytest
from django.db import transaction

from lifecycle_core.contract import errors, events, ports
from lifecycle_core.contract.status import ACTIVE, TERMINAL, Status
from lifecycle_core.journal import feed, models, verification
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db


def test_an_invocation_runs_from_admission_to_its_end(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1", to="ann")
    run.suspend()
    run.decide(approval)
    assert store.claimable(making.NOW, 10)[0].invocation == run.id
    run.resume()
    run.append(making.intended("c1", approval=approval, token=2, to="ann"), token=run.token)
    run.append(making.completed("c1"), token=run.token)
    done = run.append(events.InvocationCompleted(result={"sum": 1}), to=Status.COMPLETED, token=run.token)
    assert done.status is Status.COMPLETED
    assert run.record().version == done.version == models.Event.objects.filter(invocation=run.id).count()


# Admission.


def test_an_admitted_invocation_is_ready_and_can_be_loaded(store: Store) -> None:
    made = making.admit(store, making.new(value={"n": 1}))
    record = store.load(made.id)
    assert (record.status, record.version, record.token, record.open_requests) == (Status.STARTING, 1, 0, 0)
    assert record.dispatch == made.dispatch.as_json()
    assert record.delivery == made.delivery
    assert record.affinity == made.dispatch.session.identity
    assert [claim.invocation for claim in store.claimable(making.NOW, 10)] == [made.id]


def test_a_delivery_is_created_once_and_shared(store: Store) -> None:
    first = making.admit(store)
    making.admit(store, making.new(first.delivery))
    assert models.Delivery.objects.count() == 1


@pytest.mark.parametrize("other", [{"manifest": "m2"}, {"activation": "a2"}])
def test_a_known_delivery_with_other_bindings_is_refused(store: Store, other: dict[str, str]) -> None:
    first = making.admit(store)
    with pytest.raises(errors.DeliveryConflict):
        making.admit(store, making.new(making.delivery(first.delivery.identity, **other)))
    assert models.Invocation.objects.count() == 1
    assert feed.head(making.TENANT)[1] == 1


def test_an_episode_is_admitted_once(store: Store) -> None:
    first = making.admit(store, making.new(identity="i"))
    with pytest.raises(errors.CorrelationMismatch):
        making.admit(store, making.new(first.delivery, identity="i"))
    assert models.Event.objects.count() == 1


def test_the_site_does_not_make_another_episode_and_the_attempt_does(store: Store) -> None:
    first = making.admit(store, making.new(identity="i"))
    episode = first.dispatch.episode
    elsewhere = dataclasses.replace(episode, site=dataclasses.replace(episode.site, node="elsewhere"))
    again = dataclasses.replace(episode, attempt="2")

    def with_episode(other: object) -> ports.NewInvocation:
        return dataclasses.replace(
            first,
            id=uuid4(),
            dispatch=dataclasses.replace(first.dispatch, episode=other),  # type: ignore[arg-type]
        )

    with pytest.raises(errors.CorrelationMismatch):
        making.admit(store, with_episode(elsewhere))
    making.admit(store, with_episode(again))


def test_the_same_delivery_name_of_another_tenant_is_another_delivery(store: Store) -> None:
    first = making.admit(store)
    making.admit(store, making.new(making.delivery(first.delivery.identity, "m2"), tenant="other"))
    assert models.Delivery.objects.count() == 2


# Transitions.


def test_what_is_not_there_is_not_found(store: Store) -> None:
    with pytest.raises(errors.NotFound):
        store.load(uuid4())
    with pytest.raises(errors.NotFound):
        store.calls(uuid4(), 1)
    with pytest.raises(errors.NotFound):
        store.append(making.change(uuid4(), making.output(1)))


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.STARTING}))
def test_a_change_from_another_status_is_refused_with_the_status(store: Store, status: Status) -> None:
    made = making.admit(store)
    with pytest.raises(errors.StatusConflict) as refusal:
        store.append(making.change(made.id, making.output(1), to={status: status}))
    assert refusal.value.status == "starting"
    assert store.load(made.id).version == 1


@pytest.mark.parametrize("end", sorted(TERMINAL))
def test_nothing_leaves_an_end_but_late_facts_are_kept(store: Store, end: Status) -> None:
    run = making.running(store)
    run.end(end)
    with pytest.raises(errors.StatusConflict):
        run.append(making.output(9))
    run.append(events.LateResult(what="completion", detail={"sum": 2}), to={end: end})
    assert run.record().status is end
    assert models.Event.objects.filter(invocation=run.id).latest("seq").kind == "late.result"


def test_a_refused_event_refuses_the_whole_change(store: Store) -> None:
    run = making.running(store)
    before = run.record()
    with pytest.raises(errors.StatusConflict):
        run.append(making.output(7), making.requested("c1"), making.completed("c2"))
    assert run.record() == before
    assert store.calls(run.id, 1) == []
    assert feed.head(making.TENANT)[1] == before.version


def test_a_change_needs_an_event(store: Store) -> None:
    made = making.admit(store)
    with pytest.raises(ValueError, match="without events"):
        store.append(making.change(made.id))


def test_seqs_and_positions_are_numbered_without_a_gap(store: Store) -> None:
    first, second = making.running(store), making.running(store)
    first.append(making.output(1), making.output(2))
    second.append(making.output(1))
    first.append(making.output(3))
    for run in (first, second):
        seqs = models.Event.objects.filter(invocation=run.id).order_by("seq").values_list("seq", flat=True)
        assert list(seqs) == list(range(1, run.record().version + 1))
    positions = models.Event.objects.order_by("position").values_list("position", flat=True)
    assert list(positions) == list(range(1, feed.head(making.TENANT)[1] + 1))


def test_a_change_may_hold_very_many_events(store: Store) -> None:
    run = making.running(store)
    done = run.append(*(making.output(i) for i in range(8_000)))
    assert (done.version, done.position) == (8_004, 8_004)
    assert verification.verify(making.TENANT).intact


def test_a_rollback_leaves_no_gap(store: Store) -> None:
    run = making.running(store)
    before = feed.head(making.TENANT)
    with transaction.atomic():
        run.append(making.output(1))
        transaction.set_rollback(True)
    assert feed.head(making.TENANT) == before
    assert run.append(making.output(1)).position == before[1] + 1


def test_events_give_back_what_they_were(store: Store) -> None:
    run = making.running(store)
    said = events.ModelResponded(
        model_turn=1,
        text="größer \x00 \u202e",
        reasoning="",
        calls=[{"a": 1.5}],
        finish="stop",
        usage={"input": 3, "output": 4, "cached": 2},
        took_ms=12,
    )
    run.append(said, actor="provider:scripted", at=making.NOW + 5)
    stored = models.Event.objects.get(kind="model.responded")
    assert (stored.actor, stored.at) == ("provider:scripted", making.NOW + 5)
    assert run.record().tokens == 7


# Leases.


def test_a_claim_takes_a_free_lease_with_the_next_token(store: Store) -> None:
    run = making.running(store)
    record = run.record()
    assert (record.worker, record.token, record.lease_expires_at) == ("w1", 1, making.NOW + 30_000)
    assert store.claimable(making.NOW, 10) == []


def test_a_live_lease_is_not_taken_and_an_expired_one_is(store: Store) -> None:
    run = making.running(store)
    with pytest.raises(errors.LeaseLost):
        run.claim(at=making.NOW + 29_999)
    assert [claim.token for claim in store.claimable(making.NOW + 30_000, 10)] == [1]
    assert run.claim(at=making.NOW + 30_000).token == 2


def test_a_claim_that_saw_an_older_token_loses(store: Store) -> None:
    run = making.running(store)
    claim = ports.Claim(worker="w2", ttl_ms=1000, seen_token=0)
    taken = events.InvocationClaimed(worker="w2", token=1)
    working = {Status.RUNNING: Status.RUNNING}
    with pytest.raises(errors.LeaseLost):
        store.append(making.change(run.id, taken, to=working, at=making.LATER, claim=claim))


def test_the_old_token_writes_nothing_more(store: Store) -> None:
    run = making.running(store)
    run.claim(at=making.LATER)
    with pytest.raises(errors.LeaseLost):
        run.append(making.output(1), token=1)
    run.append(making.output(1), token=2)


def test_a_released_lease_writes_nothing_more(store: Store) -> None:
    run = making.running(store)
    run.append(making.output(1), token=1, release=True)
    with pytest.raises(errors.LeaseLost):
        run.append(making.output(2), token=1)
    assert [claim.invocation for claim in store.claimable(making.NOW, 10)] == [run.id]


def test_a_lease_is_renewed_by_its_token_alone(store: Store) -> None:
    run = making.running(store)
    assert store.renew(run.id, 1, 30_000, making.LATER)
    assert run.record().lease_expires_at == making.LATER + 30_000
    assert not store.renew(run.id, 2, 30_000, making.LATER)
    assert not store.renew(uuid4(), 1, 30_000, making.LATER)


@pytest.mark.parametrize("end", sorted(set(Status) - ACTIVE))
def test_an_end_gives_the_lease_up(store: Store, end: Status) -> None:
    run = making.running(store)
    run.end(end)
    record = run.record()
    assert (record.worker, record.lease_expires_at) == ("", 0)
    assert store.claimable(making.LATER, 10) == []
    assert not store.renew(run.id, 1, 1000, making.NOW)


@pytest.mark.parametrize("end", sorted(TERMINAL))
def test_an_end_from_outside_leaves_the_lease_to_its_worker_until_that_gives_it_up(
    store: Store, end: Status
) -> None:
    run = making.running(store)
    run.end(end, release=False)
    assert store.renew(run.id, run.token, 30_000, making.LATER)
    record = run.record()
    assert (record.worker, record.lease_expires_at) == ("w1", making.LATER + 30_000)
    assert store.claimable(making.LATER + 30_000, 10) == [], "there is nothing to do for anybody"
    store.release(run.id, run.token)
    assert not store.renew(run.id, run.token, 30_000, making.LATER)


def test_a_lease_is_not_taken_by_who_only_waits(store: Store) -> None:
    made = making.admit(store)
    claim = ports.Claim(worker="w1", ttl_ms=1000, seen_token=0)
    waiting = {Status.AWAITING_INPUT: Status.AWAITING_INPUT}
    with pytest.raises(ValueError, match="starts or runs"):
        store.append(making.change(made.id, making.output(1), to=waiting, claim=claim))


def test_void_leases_frees_what_a_dead_process_held(store: Store) -> None:
    run = making.running(store)
    assert store.void_leases(making.NOW + 1) == 1
    assert [claim.invocation for claim in store.claimable(making.NOW + 1, 10)] == [run.id]


def test_the_longest_waiting_comes_first_and_the_limit_holds(store: Store) -> None:
    made = [making.new() for _ in range(3)]
    for at, new in zip((3, 1, 2), made, strict=True):
        store.admit(new, making.admitted(new), status=Status.STARTING, at_ms=at)
    found = [claim.invocation for claim in store.claimable(making.NOW, 2)]
    assert found == [made[1].id, made[2].id]


def test_claimable_can_be_asked_for_one_tenant(store: Store) -> None:
    making.admit(store)
    other = making.admit(store, making.new(tenant="other"))
    assert [claim.invocation for claim in store.claimable(making.NOW, 9, "other")] == [other.id]


# Dispositions.


@pytest.mark.parametrize(
    ("end", "disposition"),
    [
        (Status.COMPLETED, {"kind": "completed", "result": {"sum": 1}}),
        (Status.FAILED, {"kind": "failed", "code": "STREAM_CLOSED", "retry": "new-attempt", "detail": "d"}),
        (Status.INVALID, {"kind": "invalid", "code": "RESULT_INVALID", "detail": "d"}),
        (
            Status.CANCELLED,
            {"kind": "failed", "code": "PROVIDER_CANCELLED", "retry": "same-episode", "detail": ""},
        ),
        (
            Status.UNKNOWN,
            {"kind": "unknown", "reason": "CALL_INTERRUPTED", "detail": "d", "owner": "invocation"},
        ),
    ],
)
def test_how_it_ended_is_stored(store: Store, end: Status, disposition: dict[str, object]) -> None:
    run = making.running(store)
    run.end(end)
    assert run.disposition() == disposition


def test_a_suspended_turn_names_what_is_open_and_a_resumed_one_nothing(store: Store) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    run.suspend()
    assert run.disposition() == {"kind": "awaiting-input", "open": [approval]}
    run.decide(approval)
    run.resume()
    assert run.disposition() is None


@pytest.mark.parametrize(
    ("resolution", "to", "code"),
    [
        (events.UnknownFailed(by="user:carl", reason="r"), Status.FAILED, "CALL_INTERRUPTED"),
        (events.UnknownCancelled(by="user:carl", reason="r"), Status.CANCELLED, "PROVIDER_CANCELLED"),
    ],
)
def test_an_unknown_end_is_resolved(store: Store, resolution: events.Event, to: Status, code: str) -> None:
    run = making.running(store)
    run.end(Status.UNKNOWN)
    run.append(resolution, to={Status.UNKNOWN: to})
    assert (run.disposition() or {})["code"] == code


def test_an_unknown_invocation_that_goes_on_waits_for_a_worker(store: Store) -> None:
    run = making.running(store)
    run.end(Status.UNKNOWN)
    run.append(events.UnknownContinued(by="user:carl", reason="r"), to={Status.UNKNOWN: Status.RUNNING})
    assert run.disposition() is None
    assert [claim.invocation for claim in store.claimable(making.NOW, 9)] == [run.id]
