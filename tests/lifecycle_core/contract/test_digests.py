"""Digests stand for bytes: the golden vectors hold, what cannot be represented is refused, and the fast path says the same."""

import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from lifecycle_core.contract import digests, errors
from tests.lifecycle_core.contract import golden

SAFE = 2**53 - 1


@pytest.mark.parametrize("case", golden.CASES, ids=lambda case: case["name"])
def test_every_golden_vector_holds(case: dict[str, str]) -> None:
    # The vectors hold numbers beyond 2^53, as ECMAScript reads them: as doubles.
    value = json.loads(case["inputJson"], parse_int=float)
    if case["name"] == "lone surrogate":
        with pytest.raises(errors.NotCanonical):
            digests.canonical(value)
        return
    assert digests.canonical(value).decode() == case["canonical"]
    assert digests.digest(value) == case["digest"]


def nested(depth: int, leaf: Any = 1) -> Any:
    for _ in range(depth):
        leaf = [leaf]
    return leaf


REFUSED: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": [float("inf")],
    "minus infinity": {"a": float("-inf")},
    "2^53": 2**53,
    "minus 2^53": [-(2**53)],
    "2^53 beside a float": [1.5, 2**53],
    "lone surrogate": "\ud800",
    "lone surrogate as a key": {"\udfff": 1},
    "lone surrogate beside a float": [1.5, "\ud800"],
    "number as a key": {1: 2},
    "number as a key beside a float": {"a": 1.5, "b": {1: 2}},
    "bytes": b"a",
    "set": {1},
    "too deep": nested(65),
    "too deep beside a float": [1.5, nested(65)],
    "too deep under a key that is not ASCII": {"é": nested(65)},
    "far too deep": nested(100_000),
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_represented_exactly_is_refused(value: Any) -> None:
    with pytest.raises(errors.NotCanonical):
        digests.canonical(value)


UNREADABLE = {
    "duplicate key": '{"a":1,"a":1}',
    "duplicate key below": '[{"a":{"b":1,"b":2}}]',
    "duplicate key by escape": '{"a":1,"\\u0061":2}',
    "NaN": "NaN",
    "infinity": "[Infinity]",
    "minus infinity": "-Infinity",
    "1e400": '{"a":1e400}',
    "minus 1e400": "-1e400",
    "2^53": "9007199254740992",
    "minus 2^53": "-9007199254740992",
    "hundred thousand digits": "1" * 100_000,
    "lone surrogate": '"\\ud800"',
    "lone surrogate as a key": '{"\\udc00":1}',
    "too deep": "[" * 65 + "]" * 65,
    "far too deep": "[" * 100_000,
    "nothing": "",
    "two values": "1 2",
    "no JSON": "{'a':1}",
    "not UTF-8": b'"\xff"',
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_two_readers_could_read_differently_is_refused(text: str | bytes) -> None:
    with pytest.raises(errors.NotCanonical) as refused:
        digests.parse(text)
    assert refused.value.detail


@pytest.mark.parametrize(
    "text", [str(SAFE), str(-SAFE), "[" * 64 + "]" * 64, '{"A":1,"a":1}', '"\\ud83d\\ude00"']
)
def test_the_last_value_before_each_limit_is_read(text: str) -> None:
    written = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    assert digests.canonical(digests.parse(text)).decode() == written


def test_a_depth_of_64_is_kept_and_one_more_is_not() -> None:
    assert digests.canonical(nested(64)) == b"[" * 64 + b"1" + b"]" * 64
    assert digests.canonical([1.5, nested(63)]).startswith(b"[1.5,[")


def test_equality_is_that_of_bytes() -> None:
    assert digests.same(1.0, 1)
    assert digests.same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert digests.same(-0.0, 0)
    assert not digests.same(True, 1)
    assert not digests.same(None, False)
    assert not digests.same("é", "e\u0301")
    assert not digests.same([1, 2], [2, 1])


# The fast path.

plain_keys = st.text(st.characters(max_codepoint=127), max_size=6)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(plain_keys, inner, max_size=5),
    max_leaves=30,
)
anything = st.recursive(
    plain | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


@given(plain)
def test_the_fast_path_says_what_rfc_8785_says(value: Any) -> None:
    assert digests.canonical(value) == rfc8785.dumps(value)


@given(anything)
def test_every_value_is_canonical_as_rfc_8785_says(value: Any) -> None:
    assert digests.canonical(value) == rfc8785.dumps(value)


@given(anything)
def test_what_is_canonical_reads_back_to_the_same_bytes(value: Any) -> None:
    content = digests.canonical(value)
    assert digests.canonical(json.loads(content, parse_int=float)) == content


@given(plain)
def test_what_is_plain_is_read_back_as_it_was(value: Any) -> None:
    assert digests.parse(digests.canonical(value)) == value


def test_a_value_is_thawed_at_every_depth_and_copied() -> None:
    inner = {"c": (1, 2)}
    thawed = digests.thaw({"a": [inner, ({"d": inner},)]})
    assert thawed == {"a": [{"c": [1, 2]}, [{"d": {"c": [1, 2]}}]]}
    thawed["a"][0]["c"].append(3)
    assert inner == {"c": (1, 2)}


def test_short_identities_are_24_hex_digits() -> None:
    assert digests.short(digests.digest({})) == "44136fa355b3678a1146ad16"
