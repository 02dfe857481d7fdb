"""Who follows the feed misses nothing, or is told so."""

import pytest

from lifecycle_core.contract.status import Status
from lifecycle_core.journal import feed
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

pytestmark = pytest.mark.django_db


def test_a_tenant_without_facts_has_an_empty_feed() -> None:
    assert feed.head("nobody") == ("", 0)
    assert feed.read("nobody", None, 0) == feed.Stretch(epoch="", frames=[], head=0)


def test_frames_follow_each_other_without_a_gap(store: Store) -> None:
    making.running(store)
    making.running(store)
    stretch = feed.read(making.TENANT, None, 0)
    assert [frame.event.position for frame in stretch.frames] == list(range(1, stretch.head + 1))
    assert [frame.previous for frame in stretch.frames] == list(range(stretch.head))
    assert not any(frame.gap for frame in stretch.frames)


def test_reading_goes_on_from_a_cursor_in_small_steps(store: Store) -> None:
    making.running(store)
    epoch, head = feed.head(making.TENANT)
    seen: list[int] = []
    while (stretch := feed.read(making.TENANT, epoch, seen[-1] if seen else 0, 2)).frames:
        seen += [frame.event.position for frame in stretch.frames]
    assert seen == list(range(1, head + 1))


def test_tenants_have_feeds_of_their_own(store: Store) -> None:
    making.admit(store)
    making.admit(store, making.new(tenant="other"))
    assert feed.head("other")[1] == 1
    assert feed.head("other")[0] != feed.head(making.TENANT)[0]


def test_a_cursor_of_another_epoch_must_resync(store: Store) -> None:
    making.admit(store)
    stretch = feed.read(making.TENANT, "another", 0)
    assert stretch.resync
    assert not stretch.frames


def test_a_cursor_ahead_of_the_head_must_resync(store: Store) -> None:
    making.admit(store)
    epoch, head = feed.head(making.TENANT)
    assert not feed.read(making.TENANT, epoch, head).resync
    assert feed.read(making.TENANT, epoch, head + 1).resync


def test_one_invocation_can_be_followed_alone(store: Store) -> None:
    first, second = making.running(store), making.running(store)
    frames = feed.read(making.TENANT, None, 0, invocation=second.id).frames
    assert {frame.event.invocation_id for frame in frames} == {second.id}
    assert [frame.previous for frame in frames[1:]] == [frame.event.position for frame in frames[:-1]]
    assert first.id != second.id


def test_a_retired_delivery_leaves_a_gap_that_readers_are_told_of(store: Store) -> None:
    making.admit(store)
    gone = making.running(store)
    gone.end(Status.CANCELLED)
    last = making.admit(store)
    gone.retire()
    frames = feed.read(making.TENANT, None, 0).frames
    assert [frame.gap for frame in frames] == [False, True, False]
    assert frames[1].event.invocation_id == last.id
    assert frames[2].event.kind == "delivery.retired"
    assert frames[2].event.invocation_id is None


def test_the_hint_names_the_position_after_the_commit(
    store: Store, hints: list[tuple[str, int]], django_capture_on_commit_callbacks: object
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        making.admit(store)
        assert hints == []
    assert hints == [(making.TENANT, 1)]
