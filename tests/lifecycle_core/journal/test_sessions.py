"""A native session is bound to its affinity once, and keeps its messages byte for byte."""

import dataclasses
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.contract import errors, events, identities, ports
from lifecycle_core.contract.status import Status
from lifecycle_core.journal import feed, models
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db


def kept(run: making.Run, start: int, *bodies: bytes) -> ports.SessionMessages:
    return ports.SessionMessages(affinity=run.affinity, start=start, bodies=bodies)


def restored(run: making.Run, generation: int, opaque_identity: str | None = None) -> events.Event:
    return events.SessionRestored(
        binding="sb2",
        affinity=run.affinity,
        opaque_identity=opaque_identity or f"native-{run.id}",
        generation=generation,
    )


def test_an_opened_session_is_bound_with_the_transition(store: Store) -> None:
    run = making.running(store)
    record = run.record()
    assert store.affinity(making.TENANT, run.affinity) == (f"native-{run.id}", 1)
    assert (record.session, record.generation, record.status) == (f"native-{run.id}", 1, Status.RUNNING)


def test_an_unbound_affinity_has_no_session(store: Store) -> None:
    assert store.affinity(making.TENANT, "none") is None
    assert store.messages(making.TENANT, "none") == ()


def test_a_bound_affinity_is_not_opened_again(store: Store) -> None:
    run = making.running(store)
    before = run.record()
    with pytest.raises(errors.StatusConflict):
        run.open()
    assert run.record() == before


def test_another_tenant_may_bind_the_same_affinity(store: Store) -> None:
    first = making.running(store, making.new(making.delivery("d"), identity="i"))
    run = making.running(store, making.new(making.delivery("d"), identity="i", tenant="other"))
    assert run.affinity == first.affinity
    assert store.affinity("other", first.affinity) == (f"native-{run.id}", 1)
    assert store.affinity(making.TENANT, first.affinity) == (f"native-{first.id}", 1)


def shared(store: Store, name: str = "d") -> tuple[making.Run, making.Run]:
    """Return two invocations of one affinity, the first of which has the session."""
    made = [making.sharing("shared", making.delivery(name), identity=f"i{n}") for n in (1, 2)]
    first = making.running(store, made[0])
    second = making.admit(store, made[1])
    return first, making.Run(store=store, id=second.id, affinity="shared")


def holder() -> object:
    return models.Session.objects.get(affinity="shared").holder


def waiting(store: Store) -> list[UUID]:
    return [found.invocation for found in store.claimable(making.NOW, 10)]


def test_a_place_is_kept_for_a_session_before_anybody_opens_it(store: Store) -> None:
    made = making.admit(store)
    row = models.Session.objects.get(affinity=made.dispatch.session.identity)
    assert (row.opaque_identity, row.generation, row.holder) == ("", 0, None)
    assert row.binding == identities.session_binding(row.affinity, "pending-native-session")
    assert store.affinity(making.TENANT, row.affinity) is None


def test_a_session_is_held_by_one_invocation_and_the_others_wait(store: Store) -> None:
    first, second = shared(store)
    assert (holder(), waiting(store)) == (first.id, [])
    before = second.record()
    with pytest.raises(errors.StatusConflict):
        second.claim()
    with pytest.raises(errors.StatusConflict):
        second.append(restored(second, 2, f"native-{first.id}"))
    assert second.record() == before


@pytest.mark.parametrize("end", [Status.COMPLETED, Status.FAILED, Status.INVALID, Status.CANCELLED])
def test_whoever_ends_gives_the_session_to_the_next(store: Store, end: Status) -> None:
    first, second = shared(store)
    first.end(end)
    assert (holder(), waiting(store)) == (None, [second.id])
    second.claim()
    second.append(restored(second, 2, f"native-{first.id}"), to=Status.RUNNING)
    assert holder() == second.id


def taken_from_outside(store: Store) -> tuple[making.Run, making.Run]:
    """Return two invocations of one affinity, the first of which was cancelled while its worker is at it."""
    first, second = shared(store)
    first.end(Status.CANCELLED, release=False)
    return first, second


def test_whoever_is_ended_from_outside_keeps_the_session_until_its_worker_has_left(store: Store) -> None:
    first, second = taken_from_outside(store)
    assert (holder(), waiting(store)) == (first.id, [])
    with pytest.raises(errors.StatusConflict):
        second.claim()
    store.release(first.id, first.token)
    assert (holder(), waiting(store)) == (None, [second.id])
    record = first.record()
    assert (record.status, record.worker, record.lease_expires_at) == (Status.CANCELLED, "", 0)


def test_whoever_leaves_what_was_ended_from_outside_wakes_those_that_wait(
    store: Store, hints: list[tuple[str, int]], django_capture_on_commit_callbacks: Any
) -> None:
    first, _ = taken_from_outside(store)
    _, last = feed.head(making.TENANT)
    with django_capture_on_commit_callbacks(execute=True):
        store.release(first.id, first.token)
    assert hints == [(making.TENANT, last)], "nothing has happened in the journal"


def test_whoever_is_ended_from_outside_loses_the_session_with_the_lease_of_a_dead_worker(
    store: Store,
) -> None:
    first, second = taken_from_outside(store)
    over = first.record().lease_expires_at
    assert store.claimable(over - 1, 10) == []
    with pytest.raises(errors.StatusConflict):
        second.claim(at=over - 1)
    assert [found.invocation for found in store.claimable(over, 10)] == [second.id]
    second.claim(at=over)
    assert holder() == second.id
    store.release(first.id, first.token)
    assert holder() == second.id, "a worker that was thought dead takes nothing from the next one"


def test_what_comes_late_from_a_worker_whose_lease_ran_out_gives_the_session_back(store: Store) -> None:
    first, second = taken_from_outside(store)
    first.append(events.LateResult(what="w", detail=None), to={Status.CANCELLED: Status.CANCELLED})
    assert holder() == first.id, "its lease lives"
    first.append(
        events.LateResult(what="w", detail=None),
        to={Status.CANCELLED: Status.CANCELLED},
        at=first.record().lease_expires_at,
    )
    assert (holder(), waiting(store)) == (None, [second.id])


@pytest.mark.parametrize("token", [0, 2])
def test_a_foreign_token_releases_nothing_and_wakes_nobody(
    store: Store, token: int, django_capture_on_commit_callbacks: Any
) -> None:
    first, _ = taken_from_outside(store)
    before = first.record()
    with django_capture_on_commit_callbacks() as told:
        store.release(first.id, token)
    assert (first.record(), holder(), waiting(store), told) == (before, first.id, [], [])


def test_what_has_not_ended_is_not_released(store: Store, django_capture_on_commit_callbacks: Any) -> None:
    first, _ = shared(store)
    before = first.record()
    with django_capture_on_commit_callbacks() as told:
        store.release(first.id, first.token)
    assert (first.record(), holder(), told) == (before, first.id, [])


def test_what_was_retired_before_its_worker_left_is_not_released(
    store: Store, django_capture_on_commit_callbacks: Any
) -> None:
    first, second = taken_from_outside(store)
    second.append(events.InvocationCancelled(reason="TIMEOUT", by="user:ann"), to=Status.CANCELLED)
    first.retire()
    with django_capture_on_commit_callbacks() as told:
        store.release(first.id, first.token)
    assert (models.Session.objects.exists(), told) == (False, [])


def test_whoever_waits_for_people_keeps_the_session(store: Store) -> None:
    first, second = shared(store)
    first.ask("c1")
    first.suspend()
    assert (holder(), waiting(store)) == (first.id, [])
    with pytest.raises(errors.StatusConflict):
        second.claim()


def test_a_session_of_which_nothing_is_known_is_kept(store: Store) -> None:
    first, second = shared(store)
    first.end(Status.UNKNOWN)
    assert (holder(), waiting(store)) == (first.id, [])
    with pytest.raises(errors.StatusConflict):
        second.claim()


def test_the_eldest_that_waits_is_the_next(store: Store) -> None:
    first, second = shared(store)
    third = making.admit(store, making.sharing("shared", making.delivery("d"), identity="i3"))
    models.Invocation.objects.filter(id=third.id).update(created_at=making.NOW - 1)
    first.end()
    assert waiting(store) == [third.id]
    assert second.record().status is Status.STARTING


def test_a_claim_that_ran_out_leaves_the_session_to_the_same_invocation(store: Store) -> None:
    first, second = (
        making.admit(store, making.sharing("shared", making.delivery("d"), identity=f"i{n}")) for n in (1, 2)
    )
    run = making.Run(store=store, id=first.id, affinity="shared")
    run.claim(ttl=10)
    assert [found.invocation for found in store.claimable(making.NOW + 11, 10)] == [first.id]
    run.claim(at=making.NOW + 11)
    assert holder() == first.id != second.id


OTHERS: Final = {
    "identity": making.delivery("e"),
    "manifest": making.delivery("d", manifest="m2"),
    "activation": making.delivery("d", activation="a2"),
}


@pytest.mark.parametrize("part", ["session_compatibility", "scope_value", "isolation", *OTHERS])
def test_an_affinity_that_is_stored_with_other_parts_is_refused(store: Store, part: str) -> None:
    making.admit(store, making.sharing("shared", making.delivery("d"), identity="i1"))
    made = making.sharing("shared", OTHERS.get(part, making.delivery("d")), identity="i2")
    if part not in OTHERS:
        parts: dict[str, Any] = {part: "isolated" if part == "isolation" else "x"}
        other = dataclasses.replace(made.dispatch.session, **parts)
        made = dataclasses.replace(made, dispatch=dataclasses.replace(made.dispatch, session=other))
    with pytest.raises(errors.SessionAffinityMismatch):
        making.admit(store, made)
    assert models.Invocation.objects.count() == 1


def test_a_session_goes_with_its_delivery(store: Store) -> None:
    first, second = shared(store)
    first.end()
    second.append(events.InvocationCancelled(reason="TIMEOUT", by="user:ann"), to=Status.CANCELLED)
    first.retire()
    assert not models.Session.objects.exists()


def test_a_restored_session_is_the_next_generation(store: Store) -> None:
    run = making.running(store)
    run.append(restored(run, 2))
    assert store.affinity(making.TENANT, run.affinity) == (f"native-{run.id}", 2)
    assert run.record().generation == 2


@pytest.mark.parametrize(("generation", "opaque"), [(1, None), (3, None), (2, "another")])
def test_only_exactly_the_bound_session_is_restored(
    store: Store, generation: int, opaque: str | None
) -> None:
    run = making.running(store)
    with pytest.raises(errors.StatusConflict):
        run.append(restored(run, generation, opaque))
    assert store.affinity(making.TENANT, run.affinity) == (f"native-{run.id}", 1)


def test_messages_are_kept_in_order_and_byte_for_byte(store: Store) -> None:
    run = making.running(store)
    bodies = (b"\x00\xff", b"", "größer".encode(), b"x" * 100_000)
    run.append(making.output(1), messages=kept(run, 0, *bodies[:3]))
    run.append(making.output(2), messages=kept(run, 3, bodies[3]))
    assert store.messages(making.TENANT, run.affinity) == bodies
    assert models.Blob.objects.count() == 1


@pytest.mark.parametrize("start", [0, 1, 3])
def test_messages_must_follow_what_is_there(store: Store, start: int) -> None:
    run = making.running(store)
    run.append(making.output(1), messages=kept(run, 0, b"a", b"b"))
    before = run.record()
    with pytest.raises(errors.LeaseLost):
        run.append(making.output(2), messages=kept(run, start, b"c"))
    assert store.messages(making.TENANT, run.affinity) == (b"a", b"b")
    assert run.record() == before


def test_messages_need_a_session(store: Store) -> None:
    made = making.admit(store)
    with pytest.raises(errors.LeaseLost):
        store.append(
            making.change(
                made.id,
                making.output(1),
                messages=ports.SessionMessages(affinity="none", start=0, bodies=(b"a",)),
            )
        )


def test_a_session_is_opened_and_filled_in_one_change(store: Store) -> None:
    made = making.admit(store)
    run = making.Run(store=store, id=made.id, affinity=made.dispatch.session.identity)
    opened = events.SessionOpened(binding="sb", affinity=run.affinity, opaque_identity="n", generation=1)
    run.append(opened, to=Status.RUNNING, messages=kept(run, 0, b"system"))
    assert store.messages(making.TENANT, run.affinity) == (b"system",)
