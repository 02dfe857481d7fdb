"""The closed schema subset means what JSON Schema means, refuses what it does not know, and never raises or hangs."""

import re
import time
from collections import UserDict
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle_core.engine import patterns, result_schema
from lifecycle_core.engine.result_schema import check_form, validate


def found(schema: Any, value: Any) -> dict[str, str]:
    return {problem.pointer: problem.detail for problem in validate(schema, value)}


# -------------------------------------------------------------------------------------------------- against the reference

texts = st.text(alphabet=st.sampled_from("ab1é/~ "), max_size=4)
scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, -1.5, 2.5, 1e300]) | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(result_schema.TYPES)
sizes = st.integers(0, 4) | st.sampled_from([0.0, 2.0])
rules: dict[str, st.SearchStrategy[Any]] = {
    "type": names | st.lists(names, min_size=1, max_size=3, unique=True),
    "const": values,
    "enum": st.lists(values, min_size=1, max_size=4),
    "required": st.lists(texts, max_size=2, unique=True),
    "minItems": sizes,
    "maxItems": sizes,
    "minLength": sizes,
    "maxLength": sizes,
    "pattern": st.sampled_from(["a", "^a", "b$", "^[a-z]+$", r"\d", "", r"^\s", "(a|1)+", "^.$"]),
    "minimum": st.integers(-3, 3) | st.floats(-3, 3),
    "maximum": st.integers(-3, 3) | st.floats(-3, 3),
}


def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional=rules
        | {
            "properties": st.dictionaries(texts, inner, max_size=3),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
        },
    )


schemas = st.recursive(st.fixed_dictionaries({}, optional=rules), deeper, max_leaves=6)


@given(schema=schemas, value=values)
@settings(max_examples=200, deadline=None)
def test_it_agrees_with_a_complete_implementation(schema: Any, value: Any) -> None:
    assert check_form(schema) == []
    reference = jsonschema_rs.Draft202012Validator(schema)
    assert (validate(schema, value) == []) == reference.is_valid(value)


@pytest.mark.parametrize(
    ("schema", "value", "ours", "theirs"),
    [
        ({"maxLength": 1}, "\U0001f600", False, True),
        ({"minLength": 2}, "\U0001f600", True, False),
        ({}, 2**53, False, True),
        ({"type": "integer"}, -(2**60), False, True),
        ({"properties": {"a": {"format": "date"}}}, {}, False, True),
        ({"properties": {"a": {"minContains": 1}}}, {"b": 1}, False, True),
        ({"properties": {"a": True}}, {}, False, True),
        ({"pattern": "^(?=a)"}, "a", False, True),
        ({"items": {"$ref": "#"}}, [], False, True),
    ],
)
def test_where_it_differs_from_a_complete_implementation_it_means_to(
    schema: Any, value: Any, ours: bool, theirs: bool
) -> None:
    assert (validate(schema, value) == []) is ours
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(value) is theirs


@given(
    schema=schemas,
    value=values,
    unknown=st.sampled_from(["format", "$ref", "if", "const ", "Type", "contains"]),
)
@settings(max_examples=100, deadline=None)
def test_a_keyword_that_is_not_known_spoils_every_schema_wherever_it_stands(
    schema: Any, value: Any, unknown: str
) -> None:
    assert validate({"properties": {"nowhere in the value": {**schema, unknown: True}}}, value) != []
    assert validate({"anyOf": [{}, {"not": {unknown: 1, **schema}}]}, value) != []


@given(schema=schemas, value=values)
@settings(max_examples=100, deadline=None)
def test_words_about_a_schema_change_no_verdict(schema: Any, value: Any) -> None:
    described = {**schema, "title": "t", "description": "d", "$schema": "s", "$id": "i"}
    assert validate(described, value) == validate(schema, value)
    assert (validate({"not": schema}, value) == []) is (validate(schema, value) != [])
    assert (validate({"allOf": [schema, {}]}, value) == []) is (validate(schema, value) == [])


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=3)
    | st.just(Decimal(1)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*rules, "properties", "items", "not", "allOf", "$ref"]), inner, max_size=4
        )
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(schema=anything, value=anything)
@settings(max_examples=200, deadline=None)
def test_it_never_raises(schema: Any, value: Any) -> None:
    check_form(schema)
    validate(schema, value)


@pytest.mark.parametrize("broken", ["_canonical", "check_form", "_number"])
def test_a_fault_of_ours_is_no_pass(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("sk-secret")

    assert validate({"minimum": 1}, 1) == []
    monkeypatch.setattr(result_schema, broken, fail)
    [problem] = validate({"minimum": 1}, 1)
    assert "secret" not in problem.detail


# ------------------------------------------------------------------------------------------------------ the schema itself


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (True, ""),
        (None, ""),
        ([], ""),
        ({"$ref": "#"}, "/$ref"),
        ({"format": "date"}, "/format"),
        ({"default": 1}, "/default"),
        ({"properties": {"absent": {"if": {}}}}, "/properties/absent/if"),
        ({"properties": {"a/b~c": {"x": 1}}}, "/properties/a~1b~0c/x"),
        ({"type": "text"}, "/type"),
        ({"type": []}, "/type"),
        ({"type": ["string", "string"]}, "/type"),
        ({"type": None}, "/type"),
        ({"type": [["string"]]}, "/type"),
        ({"enum": []}, "/enum"),
        ({"enum": "ab"}, "/enum"),
        ({"const": float("nan")}, "/const"),
        ({"const": 2**60}, "/const"),
        ({"required": "name"}, "/required"),
        ({"required": ["a", "a"]}, "/required"),
        ({"required": [1]}, "/required"),
        ({"properties": []}, "/properties"),
        ({"properties": {"a": True}}, "/properties/a"),
        ({"additionalProperties": 1}, "/additionalProperties"),
        ({"additionalProperties": {"x": 1}}, "/additionalProperties/x"),
        ({"items": [{}]}, "/items"),
        ({"items": True}, "/items"),
        ({"minItems": -1}, "/minItems"),
        ({"maxItems": 1.5}, "/maxItems"),
        ({"minLength": True}, "/minLength"),
        ({"maxLength": 2**53}, "/maxLength"),
        ({"maxLength": "1"}, "/maxLength"),
        ({"minimum": float("inf")}, "/minimum"),
        ({"maximum": "1"}, "/maximum"),
        ({"maximum": False}, "/maximum"),
        ({"pattern": "("}, "/pattern"),
        ({"pattern": "(?=a)"}, "/pattern"),
        ({"pattern": r"(a)\1"}, "/pattern"),
        ({"pattern": 1}, "/pattern"),
        ({"allOf": []}, "/allOf"),
        ({"anyOf": {}}, "/anyOf"),
        ({"oneOf": [1]}, "/oneOf/0"),
        ({"not": [{}]}, "/not"),
        ({"description": 1}, "/description"),
        ({"title": "\ud800"}, "/title"),
        ({"$schema": None}, "/$schema"),
        ({"$id": {}}, "/$id"),
    ],
)
def test_a_malformed_schema_matches_nothing(schema: Any, pointer: str) -> None:
    assert [problem.pointer for problem in check_form(schema)] == [pointer]
    assert validate(schema, "anything") != []


def test_descriptive_keywords_say_nothing_about_a_value() -> None:
    schema = {"$schema": "x", "$id": "y", "title": "z", "description": "w"}
    assert check_form(schema) == []
    assert validate(schema, [1]) == []


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


def test_schemas_nest_up_to_the_limit() -> None:
    assert check_form(nested(result_schema.MAX_DEPTH)) == []
    assert check_form(nested(result_schema.MAX_DEPTH + 1)) != []
    assert validate(nested(100_000), 1) != []


# -------------------------------------------------------------------------------------------------------------- a value


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, 1.5, False),
        ({"type": "integer"}, True, False),
        ({"type": "number"}, False, False),
        ({"const": 1}, 1.0, True),
        ({"const": 1}, True, False),
        ({"const": {"a": 1, "b": 2}}, {"b": 2, "a": 1}, True),
        ({"const": "\u00e9"}, "e\u0301", False),
        ({"enum": [0, None]}, False, False),
        ({"maxLength": 1}, "\U0001f600", False),
        ({"minLength": 2, "maxLength": 2}, "\U0001f600", True),
        ({"pattern": "b"}, "abc", True),
        ({"pattern": r"^\d$"}, "\u0663", False),
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": "^.$"}, "\U0001f600", True),
        ({"required": ["toString"]}, {}, False),
        ({"required": ["__class__", "keys"]}, {}, False),
        ({"required": ["a"]}, {"a": None}, True),
        ({"type": ["string", "null"]}, None, True),
        ({"oneOf": [{}, {}]}, 1, False),
        ({}, 2**53, False),
        ({}, float("nan"), False),
        ({}, "\ud800", False),
        ({}, {1: 2}, False),
        ({}, {"a", "b"}, False),
        ({}, UserDict(a=1), False),
        ({}, b"bytes", False),
    ],
)
def test_the_details_that_a_port_must_decide(schema: Any, value: Any, valid: bool) -> None:
    assert (validate(schema, value) == []) is valid


def test_every_problem_is_named_where_it_is() -> None:
    schema = {
        "type": "object",
        "required": ["name", "age"],
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "tags": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
            "a/b": {"type": "object", "properties": {"~": {"type": "null"}}},
        },
        "additionalProperties": False,
    }
    assert found(schema, {"name": "", "tags": ["x", 1], "a/b": {"~": 0}, "more": 1}) == {
        "/age": "is required",
        "/name": "must have at least 1 characters",
        "/tags": "must have at most 1 items",
        "/tags/1": "must be text",
        "/a~1b/~0": "must be empty (null)",
        "/more": "is not allowed here",
    }


def test_no_detail_repeats_the_value() -> None:
    secret = "sk-very-secret"
    schemas: list[Any] = [
        {"type": "null"},
        {"const": 1},
        {"enum": [1]},
        {"maxLength": 1},
        {"pattern": "^x"},
        {"not": {}},
    ]
    for schema in schemas:
        assert secret not in str(validate(schema, secret))


def test_there_are_never_more_problems_than_one_can_read() -> None:
    assert len(validate({"items": {"type": "string"}}, [1] * 1000)) == result_schema.MAX_PROBLEMS


# -------------------------------------------------------------------------------------------------------- hostile inputs


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 60_000 + "!"),
        ("(a|aa)+$", "a" * 60_000 + "!"),
        ("(.*)*x", "y" * 60_000),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60_000),
        (r"(\d{0,200}1){3}[2-9a-z]", "01" * 30_000),
        ("[01]*1[01]{300}[2-9]", "01" * 30_000),
        ("(?:1[01]{0,300}[2-9a-z])", "011" * 20_000),
    ],
)
def test_no_pattern_hangs(pattern: str, text: str) -> None:
    began = time.process_time()
    assert validate({"pattern": pattern}, text) != []
    assert time.process_time() - began < 4


def test_control_an_engine_that_backtracks_does_hang() -> None:
    def spent(length: int) -> float:
        began = time.process_time()
        assert re.search("(a+)+$", "a" * length + "!") is None
        return time.process_time() - began

    assert spent(20) > 4 * spent(14)  # doubles with every letter, and 60,000 of them are matched above


@pytest.mark.parametrize(
    "pattern", [r"^\p{L}{1,200}$", r"^[\p{L}\p{N} .,'-]{1,100}$", "^sha256:[0-9a-f]{64}$"]
)
def test_a_pattern_of_moderate_size_is_matched(pattern: str) -> None:
    assert check_form({"pattern": pattern}) == []


@pytest.mark.parametrize(
    "pattern", ["^(a{1,1000}){1,1000}$", "a" * 3000, "(" * 5000 + ")" * 5000, r"(\p{L}{100}){100}"]
)
def test_a_pattern_that_would_be_too_large_is_refused(pattern: str) -> None:
    began = time.process_time()
    assert not patterns.compiles(pattern)
    assert time.process_time() - began < 1


def test_the_text_that_patterns_are_matched_against_is_bounded_in_all() -> None:
    piece = "x" * 1000
    assert validate({"items": {"pattern": "^x+$"}}, [piece] * 20) == []
    assert "too large" in validate({"items": {"pattern": "^x+$"}}, [piece] * 1000)[0].detail


def test_a_schema_and_a_value_that_multiply_are_given_up() -> None:
    schema = {"items": {"anyOf": [{"const": {"a": number}} for number in range(2000)]}}
    began = time.process_time()
    assert "too large" in validate(schema, [{"a": -1}] * 2000)[0].detail
    assert time.process_time() - began < 4
