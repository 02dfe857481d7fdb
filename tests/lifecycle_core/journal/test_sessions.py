"""A native session is bound to its affinity once, and keeps its messages byte for byte."""

import pytest

from lifecycle_core.contract import errors, events, ports
from lifecycle_core.contract.status import Status
from lifecycle_core.journal import models
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
    first = making.running(store)
    other = making.new(making.delivery("d"), tenant="other")
    made = making.admit(store, other)
    run = making.Run(store=store, id=made.id, tenant="other", affinity=first.affinity)
    run.open()
    assert store.affinity("other", first.affinity) == (f"native-{run.id}", 1)
    assert store.affinity(making.TENANT, first.affinity) == (f"native-{first.id}", 1)


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
