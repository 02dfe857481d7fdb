"""Read a JSON Schema as a form: which control a value gets, and when only JSON will do."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from console import shown
from lifecycle_core.contract.digests import Json

type Kind = Literal[
    "text",
    "lines",
    "integer",
    "number",
    "boolean",
    "choice",
    "choices",
    "date",
    "instant",
    "object",
    "array",
    "json",
]
type Schema = Mapping[str, Any]

COMBINED: Final = frozenset(
    {"$ref", "anyOf", "oneOf", "allOf", "not", "if", "patternProperties", "prefixItems", "const"}
)
SHORT: Final = 120
MOST_OPTIONS: Final = 500
INSTANT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def kind(schema: Json) -> Kind:
    """Choose the control for a schema."""
    if not isinstance(schema, dict) or COMBINED & schema.keys():
        return "json"
    match schema:
        case {"enum": [*options]} if 0 < len(options) <= MOST_OPTIONS and all(
            _is_scalar(option) for option in options
        ):
            return "choice"
        case {"type": "string"}:
            return _text_kind(schema)
        case {"type": "integer"}:
            return "integer"
        case {"type": "number"}:
            return "number"
        case {"type": "boolean"}:
            return "boolean"
        case {"type": "array", "items": items}:
            return _array_kind(schema, items)
        case {"type": "object", "properties": {**properties}} if properties:
            return "object"
    return "json"


def _is_scalar(option: Json) -> bool:
    return not isinstance(option, dict | list)


def _text_kind(schema: Schema) -> Kind:
    form = schema.get("format")
    if form == "date":
        return "date"
    if form == "date-time":
        return "instant"
    most = schema.get("maxLength", SHORT + 1)
    return "text" if form or "pattern" in schema or most <= SHORT else "lines"


def _array_kind(schema: Schema, items: Json) -> Kind:
    if not isinstance(items, dict):
        return "json"
    if kind(items) == "choice" and schema.get("uniqueItems") is True:
        return "choices"
    return "array"


def fits(schema: Json, value: Json) -> bool:
    """Tell whether the controls of a schema can carry a value without changing it."""
    chosen = kind(schema)
    if chosen == "json" or not isinstance(schema, dict):
        return True
    match chosen:
        case "object":
            return isinstance(value, dict) and all(
                name in properties(schema) and fits(properties(schema)[name], item)
                for name, item in value.items()
            )
        case "array":
            return isinstance(value, list) and all(fits(schema["items"], item) for item in value)
        case "choices":
            options = schema["items"]["enum"]  # type: ignore[call-overload,index]
            return isinstance(value, list) and all(is_among(item, options) for item in value)
        case "choice":
            return is_among(value, schema["enum"])
    return _leaf_fits(chosen, value)


def _leaf_fits(chosen: Kind, value: Json) -> bool:
    match chosen:
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "date":
            return isinstance(value, str) and DATE.fullmatch(value) is not None
        case "instant":
            return isinstance(value, str) and INSTANT.fullmatch(value) is not None
    return isinstance(value, str) and _survives_a_form(value, one_line=chosen == "text")


def _survives_a_form(value: str, *, one_line: bool) -> bool:
    """Tell whether a browser gives a text back as it got it, with nothing in it that nobody sees."""
    if "\r" in value or (one_line and "\n" in value):
        return False
    return shown.is_plain(value)


def is_among(value: Json, options: Any) -> bool:
    return any(type(option) is type(value) and option == value for option in options)


def properties(schema: Schema) -> Mapping[str, Json]:
    """Return the members that an object schema names."""
    named: Mapping[str, Json] = schema["properties"]
    return named


def required(schema: Schema) -> frozenset[str]:
    """Return the names of the members that must be there."""
    return frozenset(schema.get("required", ()))
