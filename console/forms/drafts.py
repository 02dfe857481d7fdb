"""What stands in a form before it is a value: text as it was typed, rows as they were added.

A draft comes from a value or from a browser, and becomes a value; every control is named by its JSON pointer, after `f`.
"""

import json
import re
from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from django.utils.translation import gettext as _

from console import shown
from console.forms import schema as schemas
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import SAFE_INTEGER, Json
from lifecycle_core.contract.errors import Problem

ROOT: Final = "f"
MOST_ROWS: Final = 200
INTEGER: Final = re.compile(r"[+-]?[0-9]{1,16}")
ROW: Final = re.compile(r"[0-9]{1,5}")


class Posted(Protocol):
    """What a browser sent."""

    def get(self, key: str, /) -> str | None: ...
    def getlist(self, key: str, /) -> list[str]: ...


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One control or group of a form. `given` tells that an empty text is a text and not nothing."""

    text: str = ""
    given: bool = False
    chosen: Sequence[str] = ()
    members: Mapping[str, "Draft"] = field(default_factory=dict)
    rows: MutableSequence["Draft"] = field(default_factory=list)


class Missing:
    """Stand for a member that is left out."""


MISSING: Final = Missing()


def child(pointer: str, name: str | int) -> str:
    """Return the JSON pointer of a member or row."""
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


def of_value(schema: Json, value: Json | Missing) -> Draft:
    """Fill a form with a value that fits the schema."""
    chosen = schemas.kind(schema)
    if isinstance(value, Missing):
        return _blank(schema, chosen)
    match chosen:
        case "object":
            named: Any = value
            members = schemas.properties(schema).items()  # type: ignore[arg-type]
            return Draft(
                given=True, members={name: of_value(part, named.get(name, MISSING)) for name, part in members}
            )
        case "array":
            return Draft(given=True, rows=[of_value(schema["items"], item) for item in value])  # type: ignore[call-overload,index,union-attr]
        case "choices":
            return Draft(given=True, chosen=[json.dumps(item) for item in value])  # type: ignore[union-attr]
        case "text" | "lines" | "date":
            return Draft(given=True, text=str(value))
        case "instant":
            return Draft(given=True, text=str(value).removesuffix("Z"))
        case "json":
            return Draft(given=True, text=shown.pretty(value))
    return Draft(given=True, text=json.dumps(value))


def controls(draft: Draft) -> int:
    """Count the controls and groups of a form."""
    return 1 + sum(map(controls, (*draft.members.values(), *draft.rows)))


def _blank(schema: Json, chosen: schemas.Kind) -> Draft:
    """Make an empty draft, with the schema's default where it has one that fits."""
    if isinstance(schema, dict) and "default" in schema and schemas.fits(schema, schema["default"]):
        return of_value(schema, schema["default"])
    if chosen == "object":
        members = schemas.properties(schema).items()  # type: ignore[arg-type]
        return Draft(members={name: _blank(part, schemas.kind(part)) for name, part in members})
    return Draft()


def of_post(schema: Json, posted: Posted, pointer: str = "") -> Draft:
    """Read what a browser sent for a schema."""
    name, chosen = ROOT + pointer, schemas.kind(schema)
    given = f"{name}?" in posted.getlist("given")
    match chosen:
        case "object":
            members = schemas.properties(schema).items()  # type: ignore[arg-type]
            return Draft(
                given=given,
                members={key: of_post(part, posted, child(pointer, key)) for key, part in members},
            )
        case "array":
            count = posted.get(f"{name}#rows") or "0"
            rows = min(int(count), MOST_ROWS) if count.isascii() and count.isdigit() and len(count) < 6 else 0
            items = schema["items"]  # type: ignore[call-overload,index]
            return Draft(
                given=given, rows=[of_post(items, posted, child(pointer, row)) for row in range(rows)]
            )
        case "choices":
            return Draft(given=given, chosen=posted.getlist(name))
    # Browsers send line ends as CR LF, whatever the text had.
    return Draft(given=given, text=(posted.get(name) or "").replace("\r\n", "\n"))


def adjust(draft: Draft, command: str) -> None:
    """Add or remove a row: `add /pointer` or `remove /pointer/row`."""
    verb, _space, pointer = command.partition(" ")
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    last = steps.pop() if verb == "remove" and steps else None
    for step in steps:
        draft = _step(draft, step)
    if verb == "add" and len(draft.rows) < MOST_ROWS:
        draft.rows.append(Draft())
    elif last is not None and ROW.fullmatch(last) and int(last) < len(draft.rows):
        del draft.rows[int(last)]


def _step(draft: Draft, step: str) -> Draft:
    if step in draft.members:
        return draft.members[step]
    row = int(step) if ROW.fullmatch(step) else len(draft.rows)
    return draft.rows[row] if row < len(draft.rows) else Draft()


def value(
    schema: Json, draft: Draft, *, needed: bool, pointer: str = ""
) -> tuple[Json | Missing, list[Problem]]:
    """Turn a draft into a value, with what is wrong with it before any schema is asked."""
    chosen = schemas.kind(schema)
    match chosen:
        case "object":
            return _object(schema, draft, needed=needed, pointer=pointer)
        case "array":
            return _array(schema, draft, needed=needed, pointer=pointer)
        case "choices":
            if not draft.chosen and not needed and not draft.given:
                return MISSING, []
            return _several(schema["items"]["enum"], draft, pointer)  # type: ignore[arg-type,call-overload,index]
    if not draft.text and not needed and not draft.given:
        return MISSING, []
    if chosen in ("text", "lines"):
        return draft.text, []
    if not draft.text.strip():
        return MISSING, [Problem(pointer, _("Something is needed here."))] if needed else []
    return _leaf(schema, chosen, draft.text.strip(), pointer)


def _object(schema: Any, draft: Draft, *, needed: bool, pointer: str) -> tuple[Json | Missing, list[Problem]]:
    found: dict[str, Json] = {}
    problems: list[Problem] = []
    must = schemas.required(schema)
    # A group that may be left out asks for nothing until something in it is filled in.
    asked = needed or draft.given or any(_is_filled(member) for member in draft.members.values())
    if not asked:
        return MISSING, []
    for name, part in schemas.properties(schema).items():
        member, wrong = value(
            part, draft.members.get(name, Draft()), needed=name in must, pointer=child(pointer, name)
        )
        problems += wrong
        if not isinstance(member, Missing):
            found[name] = member
    return found, problems


def _is_filled(draft: Draft) -> bool:
    filled = bool(draft.text or draft.chosen or draft.rows)
    return filled or any(_is_filled(member) for member in draft.members.values())


def _array(schema: Any, draft: Draft, *, needed: bool, pointer: str) -> tuple[Json | Missing, list[Problem]]:
    if not draft.rows and not needed and not draft.given:
        return MISSING, []
    found: list[Json] = []
    problems: list[Problem] = []
    for number, row in enumerate(draft.rows):
        item, wrong = value(schema["items"], row, needed=True, pointer=child(pointer, number))
        problems += wrong
        if not isinstance(item, Missing):
            found.append(item)
    return found, problems


def _several(options: Sequence[Json], draft: Draft, pointer: str) -> tuple[Json, list[Problem]]:
    by_token = {json.dumps(option): option for option in options}
    if unknown := [token for token in draft.chosen if token not in by_token]:
        return [], [Problem(pointer, _("%(value)s is not among the choices.") % {"value": unknown[0][:80]})]
    return [by_token[token] for token in by_token if token in draft.chosen], []


def _leaf(schema: Any, chosen: schemas.Kind, text: str, pointer: str) -> tuple[Json | Missing, list[Problem]]:
    match chosen:
        case "integer":
            if not INTEGER.fullmatch(text) or abs(int(text)) > SAFE_INTEGER:
                return MISSING, [Problem(pointer, _("A whole number is needed here."))]
            return int(text), []
        case "boolean":
            return text == "true", [] if text in ("true", "false") else [
                Problem(pointer, _("Choose yes or no."))
            ]
        case "date":
            return text, []
        case "instant":
            return (text if len(text) > 16 else f"{text}:00") + "Z", []
    return _parsed(schema, chosen, text, pointer)


def _parsed(
    schema: Any, chosen: schemas.Kind, text: str, pointer: str
) -> tuple[Json | Missing, list[Problem]]:
    """Read what is typed as JSON: numbers, choices and free values."""
    try:
        parsed = digests.parse(text)
    except errors.NotCanonical as refused:
        return MISSING, [Problem(pointer, _("This is not JSON: %(why)s") % {"why": refused.detail})]
    if chosen == "number" and (isinstance(parsed, bool) or not isinstance(parsed, int | float)):
        return MISSING, [Problem(pointer, _("A number is needed here."))]
    if chosen == "choice" and not schemas.is_among(parsed, schema["enum"]):
        return MISSING, [Problem(pointer, _("Choose one of the choices."))]
    return parsed, []
