"""Large values lie elsewhere, come back as they were, and nothing an agent writes is taken for a reference."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.journal import blobs, feed, models
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

SMALL = blobs.Limits(inline=40, value=4_000)
LOOKALIKES: list[Any] = [
    {"$blob": "sha256:0", "bytes": 3},
    {"$blob": "sha256:0"},
    {"$blob": "sha256:0", "bytes": 3, "more": 1},
    {"$literal": {"$blob": "x", "bytes": 1}},
    {"$literal": {"$literal": 1}},
    {"$literal": 1, "more": 2},
    {"nested": {"$blob": "x", "bytes": 1}},
    [{"$literal": 1}],
    '{"$blob":"x","bytes":1}',
    None,
    0,
    "",
]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(max_size=30)
    | st.floats(-1e9, 1e9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["$blob", "$literal", "bytes", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def loaded(folder: blobs.Folder, text: str) -> Any:
    return blobs.unfold(text, folder.blobs.__getitem__)


@given(values)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    folder = blobs.Folder(limits=SMALL)
    assert digests.same(loaded(folder, folder.value(value)), value)


@pytest.mark.parametrize("value", LOOKALIKES, ids=repr)
def test_what_looks_like_a_reference_is_none(value: Any) -> None:
    folder = blobs.Folder(limits=blobs.DEFAULT)
    text = folder.value(value)
    assert folder.blobs == {}
    assert loaded(folder, text) == value


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), values))
def test_every_payload_comes_back_as_it_was(payload: dict[str, Any]) -> None:
    folder = blobs.Folder(limits=SMALL)
    text = folder.payload(payload, digests.canonical(payload))
    assert digests.same(blobs.unfold_payload(text, folder.blobs.__getitem__), payload)


def test_the_limit_is_the_bytes_of_the_canonical_form() -> None:
    folder = blobs.Folder(limits=SMALL)
    folder.value("x" * 38)
    assert folder.blobs == {}
    assert json.loads(folder.value("x" * 39)) == {"$blob": digests.digest("x" * 39), "bytes": 41}
    folder.value("x" * 3_998)
    with pytest.raises(errors.ValueTooLarge) as refusal:
        folder.value("x" * 3_999)
    assert refusal.value.limit_bytes == 4_000


@pytest.mark.django_db
def test_a_large_value_is_stored_once_for_its_delivery(store: Store) -> None:
    run = making.running(store)
    large: dict[str, Any] = {"body": "x" * 70_000}
    run.append(making.requested("c1", **large), making.requested("c2", **large))
    assert [call.arguments for call in store.calls(run.id, 1)] == [large, large]
    assert models.Blob.objects.count() == 1
    run.append(making.completed("c1", content="y" * 70_000))
    assert run.call("c1").content == "y" * 70_000


@pytest.mark.django_db
@pytest.mark.parametrize(
    "value", [*LOOKALIKES, "x" * 70_000, {"a": 2.0, "b": 1e-7}], ids=lambda v: repr(v)[:40]
)
def test_inputs_results_and_answers_come_back_as_they_were(store: Store, value: Any) -> None:
    run = making.running(store, making.new(value=value))
    run.append(making.requested("c1"), making.completed("c1", content=value))
    assert run.record().dispatch["input"] == value
    assert run.call("c1").content == value
    stored = models.Event.objects.get(kind="tool.completed").payload
    assert blobs.unfold_payload(stored, blobs.loader(store._run(), run.delivery))["content"] == value


@pytest.mark.django_db
def test_a_value_beyond_the_limit_is_refused_and_nothing_happens() -> None:
    store = Store(limits=SMALL)
    run = making.running(store)
    before = feed.head(making.TENANT)
    with pytest.raises(errors.ValueTooLarge):
        run.append(making.output(1), making.output(2, "x" * 5_000))
    assert feed.head(making.TENANT) == before
    with pytest.raises(errors.ValueTooLarge):
        making.admit(store, making.new(value="x" * 5_000))


@pytest.mark.django_db
def test_what_is_no_json_is_refused(store: Store) -> None:
    run = making.running(store)
    for value in (float("nan"), 2**60, "\ud800"):
        with pytest.raises(errors.NotCanonical):
            run.append(events.LateResult(what="w", detail=value))
