"""The fields that a template draws: a schema and a draft, with the problems put beside their controls."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from console.forms import drafts
from console.forms import schema as schemas
from console.forms.drafts import Draft
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem

RADIOS: Final = 7


@dataclass(frozen=True, kw_only=True)
class Option:
    """One choice; `token` is its JSON."""

    token: str
    label: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class Field:
    """One control with its name, or a group of them. Labels and hints may be an agent's words."""

    name: str
    pointer: str
    label: str
    kind: schemas.Kind
    required: bool
    hint: str = ""
    limits: Mapping[str, Json] = field(default_factory=dict)
    text: str = ""
    given: bool = False
    options: Sequence[Option] = ()
    members: Sequence["Field"] = ()
    problems: Sequence[str] = ()

    @property
    def id(self) -> str:
        """Return the identity of the control in the page."""
        return "field-" + self.name.encode().hex()

    @property
    def radios(self) -> bool:
        """Tell whether the choices are few enough to be seen at once."""
        return len(self.options) <= RADIOS


def of(
    schema: Json,
    draft: Draft,
    problems: Sequence[Problem],
    *,
    label: str = "",
    required: bool,
    pointer: str = "",
) -> Field:
    """Make the field of a schema, and those inside it."""
    plain: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
    kind = schemas.kind(schema)
    members = _members(plain, kind, draft, problems, pointer)
    return Field(
        name=drafts.ROOT + pointer,
        pointer=pointer,
        label=str(plain.get("title", label)),
        kind=kind,
        required=required,
        hint=str(plain.get("description", "")),
        limits={
            name: plain[name] for name in ("minimum", "maximum", "maxLength", "minLength") if name in plain
        },
        text=draft.text,
        given=draft.given,
        options=_options(plain, kind, draft),
        members=members,
        problems=_own(problems, pointer, members),
    )


def _members(
    schema: Mapping[str, Any], kind: schemas.Kind, draft: Draft, problems: Sequence[Problem], pointer: str
) -> list[Field]:
    if kind == "object":
        must = schemas.required(schema)
        return [
            of(
                part,
                draft.members.get(name, Draft()),
                problems,
                label=name,
                required=name in must,
                pointer=drafts.child(pointer, name),
            )
            for name, part in schemas.properties(schema).items()
        ]
    if kind == "array":
        return [
            of(
                schema["items"],
                row,
                problems,
                label=str(number + 1),
                required=True,
                pointer=drafts.child(pointer, number),
            )
            for number, row in enumerate(draft.rows)
        ]
    return []


def _options(schema: Mapping[str, Any], kind: schemas.Kind, draft: Draft) -> list[Option]:
    if kind not in ("choice", "choices"):
        return []
    values = schema["enum"] if kind == "choice" else schema["items"]["enum"]
    chosen = draft.chosen if kind == "choices" else (draft.text,)
    return [
        Option(
            token=json.dumps(value),
            label=value if isinstance(value, str) else json.dumps(value),
            chosen=json.dumps(value) in chosen,
        )
        for value in values
    ]


def _own(problems: Sequence[Problem], pointer: str, members: Sequence[Field]) -> list[str]:
    """Return the problems of this place, and those below it that no member shows."""
    below = [
        problem
        for problem in problems
        if problem.pointer == pointer or problem.pointer.startswith(pointer + "/")
    ]
    inside = tuple(member.pointer for member in members)
    return [
        problem.detail
        for problem in below
        if not any(problem.pointer == place or problem.pointer.startswith(place + "/") for place in inside)
    ]
