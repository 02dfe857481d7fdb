"""The closed JSON Schema subset in which results, answers and arguments are described (reference: seed-contracts 12).

Every keyword that is not known here makes a schema invalid, wherever it stands, so that no rule is ever skipped because nobody
understood it. Nothing raises: what cannot be judged is a problem, and a problem means "not valid". The details are fixed
sentences; only numbers and type names vary.

It means what JSON Schema means, but for this: a length counts UTF-16 code units; a value outside exact JSON (whole numbers
beyond 2^53, half a surrogate pair) matches nothing, not even the empty schema; a pattern has neither look-around nor
back-references and a bounded size; `true` and `false` are schemas only in `additionalProperties`.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.errors import Problem
from lifecycle_core.engine import patterns

log = logging.getLogger(__name__)

MAX_DEPTH: Final = 64
MAX_STEPS: Final = 200_000
MAX_PROBLEMS: Final = 50

TYPES: Final = ("null", "boolean", "object", "array", "number", "integer", "string")
WORDS: Final = {
    "null": "empty (null)",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "number": "a number",
    "integer": "a whole number",
    "string": "text",
}


class _TooMuch(Exception):
    """Judging this value would take too long."""


# ------------------------------------------------------------------------------------------------------ the schema itself


def check_form(schema: Any) -> list[Problem]:
    """Return what is wrong with a schema; the pointers point into the schema."""
    return _first(_form(schema, "", 1))


def _form(schema: Any, at: str, depth: int) -> Iterator[Problem]:
    if not isinstance(schema, dict):
        yield Problem(at, "must be a schema (an object)")
        return
    if depth > MAX_DEPTH:
        yield Problem(at, f"is nested deeper than {MAX_DEPTH} schemas")
        return
    for keyword, rule in schema.items():
        check = _FORMS.get(keyword) if isinstance(keyword, str) else None
        here = _child(at, keyword if isinstance(keyword, str) else type(keyword).__name__)
        if check is None:
            yield Problem(here, "is a keyword that is not supported")
        else:
            yield from check(rule, here, depth + 1)


def _form_type(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    names = rule if isinstance(rule, list) else [rule]
    if not names or any(not isinstance(name, str) or name not in TYPES for name in names):
        yield Problem(at, "must be a type name or a list of type names")
    elif len(set(names)) != len(names):
        yield Problem(at, "must not name a type twice")


def _form_const(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if _canonical(rule) is None:
        yield Problem(at, "must be exact JSON")


def _form_enum(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not isinstance(rule, list) or not rule:
        yield Problem(at, "must be a list with at least one value")
    elif _canonical(rule) is None:
        yield Problem(at, "must be exact JSON")


def _form_properties(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not isinstance(rule, dict):
        yield Problem(at, "must be an object of schemas")
        return
    for name, schema in rule.items():
        if isinstance(name, str):
            yield from _form(schema, _child(at, name), depth)
        else:
            yield Problem(at, "must have names that are text")


def _form_required(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not isinstance(rule, list) or any(not isinstance(name, str) for name in rule):
        yield Problem(at, "must be a list of names")
    elif len(set(rule)) != len(rule):
        yield Problem(at, "must not name a property twice")


def _form_additional(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not isinstance(rule, bool):
        yield from _form(rule, at, depth)


def _form_schemas(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not isinstance(rule, list) or not rule:
        yield Problem(at, "must be a list with at least one schema")
        return
    for index, schema in enumerate(rule):
        yield from _form(schema, _child(at, index), depth)


def _form_size(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not _is_integer(rule) or not 0 <= rule <= digests.SAFE_INTEGER:
        yield Problem(at, "must be a whole number, zero or more")


def _form_bound(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not _is_number(rule) or _canonical(rule) is None:
        yield Problem(at, "must be a finite number")


def _form_pattern(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not isinstance(rule, str) or not patterns.compiles(rule):
        yield Problem(
            at, "must be a regular expression of moderate size, without look-around and back-references"
        )


def _form_text(rule: Any, at: str, depth: int) -> Iterator[Problem]:
    if not isinstance(rule, str) or _canonical(rule) is None:
        yield Problem(at, "must be text")


_FORMS: Final[Mapping[str, Callable[[Any, str, int], Iterator[Problem]]]] = {
    "type": _form_type,
    "const": _form_const,
    "enum": _form_enum,
    "properties": _form_properties,
    "required": _form_required,
    "additionalProperties": _form_additional,
    "items": _form,
    "minItems": _form_size,
    "maxItems": _form_size,
    "minLength": _form_size,
    "maxLength": _form_size,
    "pattern": _form_pattern,
    "minimum": _form_bound,
    "maximum": _form_bound,
    "allOf": _form_schemas,
    "anyOf": _form_schemas,
    "oneOf": _form_schemas,
    "not": _form,
    "description": _form_text,
    "title": _form_text,
    "$schema": _form_text,
    "$id": _form_text,
}

# -------------------------------------------------------------------------------------------------------------- a value


def validate(schema: Any, value: Any) -> list[Problem]:
    """Return where a value does not match a schema; the pointers point into the value.

    A malformed schema matches nothing, and neither does a value that is not exact JSON. A fault of ours is "not valid", too.
    """
    try:
        return _judged(schema, value)
    except Exception as fault:  # noqa: BLE001  (it is logged, without the value)
        log.error("a value could not be judged: %s", type(fault).__name__)
        return [Problem("", "cannot be checked, because something went wrong here")]


def _judged(schema: Any, value: Any) -> list[Problem]:
    if check_form(schema):
        return [Problem("", "cannot be checked, because its schema is not valid")]
    if _canonical(value) is None:
        return [Problem("", "is not exact JSON (a number too large, half a character, or nested too deeply)")]
    try:
        return _first(_Judge().problems(schema, value, ""))
    except _TooMuch:
        return [Problem("", "is too large to be checked against this schema")]


class _Judge:
    """Judge one value, within a budget of work."""

    def __init__(self) -> None:
        self._steps = 0
        self._matching = patterns.Budget()

    def problems(self, schema: Mapping[str, Any], value: Any, at: str) -> Iterator[Problem]:
        self._spend(1 + len(schema))
        kinds = schema.get("type")
        if kinds is not None and not any(_is(kind, value) for kind in _names(kinds)):
            yield Problem(at, f"must be {' or '.join(WORDS[kind] for kind in _names(kinds))}")
            return  # what else could be said of a value of the wrong type would only confuse
        yield from self._values(schema, value, at)
        if isinstance(value, str):
            yield from self._text(schema, value, at)
        elif isinstance(value, dict):
            yield from self._object(schema, value, at)
        elif isinstance(value, list | tuple):
            yield from self._list(schema, value, at)
        elif _is_number(value):
            yield from _number(schema, value, at)
        yield from self._combined(schema, value, at)

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise _TooMuch

    def _valid(self, schema: Mapping[str, Any], value: Any) -> bool:
        return next(self.problems(schema, value, ""), None) is None

    def _values(self, schema: Mapping[str, Any], value: Any, at: str) -> Iterator[Problem]:
        if "const" in schema and not self._same(schema["const"], value):
            yield Problem(at, "must be exactly the one value that is allowed")
        if "enum" in schema and not any(self._same(allowed, value) for allowed in schema["enum"]):
            yield Problem(at, "must be one of the allowed values")

    def _same(self, allowed: Any, value: Any) -> bool:
        if isinstance(allowed, str) or isinstance(value, str):
            self._spend(1)
            return bool(allowed == value)
        left, right = _canonical(allowed), _canonical(value)
        self._spend(1 + (len(left or b"") + len(right or b"")) // 64)
        return left is not None and left == right

    def _text(self, schema: Mapping[str, Any], value: str, at: str) -> Iterator[Problem]:
        if "minLength" in schema or "maxLength" in schema:
            length = len(value.encode("utf-16-le")) // 2
            if length < schema.get("minLength", 0):
                yield Problem(at, f"must have at least {schema['minLength']:.0f} characters")
            if length > schema.get("maxLength", length):
                yield Problem(at, f"must have at most {schema['maxLength']:.0f} characters")
        if "pattern" in schema:
            try:
                if not self._matching.matches(schema["pattern"], value):
                    yield Problem(at, f"must match the pattern {schema['pattern'][:200]}")
            except patterns.BudgetSpent as cause:
                raise _TooMuch from cause

    def _object(self, schema: Mapping[str, Any], value: Mapping[str, Any], at: str) -> Iterator[Problem]:
        self._spend(len(value) + len(schema.get("required", ())))
        for name in schema.get("required", ()):
            if name not in value:
                yield Problem(_child(at, name), "is required")
        known: Mapping[str, Any] = schema.get("properties", {})
        further = schema.get("additionalProperties", True)
        for name, item in value.items():
            if name in known:
                yield from self.problems(known[name], item, _child(at, name))
            elif further is False:
                yield Problem(_child(at, name), "is not allowed here")
            elif further is not True:
                yield from self.problems(further, item, _child(at, name))

    def _list(
        self, schema: Mapping[str, Any], value: list[Any] | tuple[Any, ...], at: str
    ) -> Iterator[Problem]:
        if len(value) < schema.get("minItems", 0):
            yield Problem(at, f"must have at least {schema['minItems']:.0f} items")
        if len(value) > schema.get("maxItems", len(value)):
            yield Problem(at, f"must have at most {schema['maxItems']:.0f} items")
        if "items" in schema:
            for index, item in enumerate(value):
                yield from self.problems(schema["items"], item, _child(at, index))

    def _combined(self, schema: Mapping[str, Any], value: Any, at: str) -> Iterator[Problem]:
        for part in schema.get("allOf", ()):
            yield from self.problems(part, value, at)
        if "anyOf" in schema and not any(self._valid(part, value) for part in schema["anyOf"]):
            yield Problem(at, "must match at least one of the allowed forms")
        if "oneOf" in schema:
            matches = sum(self._valid(part, value) for part in schema["oneOf"])
            if matches != 1:
                told = "none" if matches == 0 else "more than one"
                yield Problem(at, f"must match exactly one of the allowed forms, but matches {told}")
        if "not" in schema and self._valid(schema["not"], value):
            yield Problem(at, "has a form that is not allowed")


def _number(schema: Mapping[str, Any], value: float, at: str) -> Iterator[Problem]:
    if "minimum" in schema and value < schema["minimum"]:
        yield Problem(at, f"must be at least {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        yield Problem(at, f"must be at most {schema['maximum']}")


def _names(kinds: Any) -> list[str]:
    return kinds if isinstance(kinds, list) else [kinds]


def _is(kind: str, value: Any) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list | tuple)
        case "string":
            return isinstance(value, str)
        case "integer":
            return _is_integer(value)
        case _:
            return _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


def _canonical(value: Any) -> bytes | None:
    try:
        return digests.canonical(value)
    except errors.NotCanonical:
        return None


def _child(at: str, name: str | int) -> str:
    """Return the JSON pointer of a member (RFC 6901)."""
    return f"{at}/{str(name).replace('~', '~0').replace('/', '~1')}"


def _first(found: Iterator[Problem]) -> list[Problem]:
    return [problem for problem, _ in zip(found, range(MAX_PROBLEMS), strict=False)]
