"""Agent text and values as pages show them: escaped, counted, in pieces that a template can walk."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lifecycle_core.contract import digests, display
from lifecycle_core.contract.display import Display

LONG_LINES = 16
LONG_CHARACTERS = 1200
GLANCE = 60


def text(value: object) -> Display:
    """Make any text safe to look at."""
    return display.display(str(value))


def is_long(shown: Display) -> bool:
    """Tell whether a text is folded until somebody asks for the rest."""
    return shown.lines > LONG_LINES or shown.characters > LONG_CHARACTERS


def is_counted(shown: Display) -> bool:
    """Tell whether a text is too long to be counted at a glance."""
    return shown.lines > 1 or shown.characters > GLANCE


@dataclass(frozen=True, kw_only=True)
class Node:
    """One value inside a JSON value: a leaf with its text, or a branch with its members."""

    name: Display | None
    kind: Literal["text", "number", "boolean", "null", "object", "array"]
    shown: Display | None = None
    long: bool = False
    counted: bool = False
    members: Sequence["Node"] = field(default_factory=tuple)


def tree(value: object, name: str | None = None) -> Node:
    """Turn a JSON value into nodes, nothing left out."""
    label = None if name is None else text(name)
    if isinstance(value, Mapping):
        return Node(name=label, kind="object", members=[tree(item, str(key)) for key, item in value.items()])
    if isinstance(value, list | tuple):
        return Node(name=label, kind="array", members=[tree(item, str(n)) for n, item in enumerate(value)])
    return _leaf(value, label)


def _leaf(value: object, name: Display | None) -> Node:
    if isinstance(value, str):
        shown = text(value)
        return Node(name=name, kind="text", shown=shown, long=is_long(shown), counted=is_counted(shown))
    if value is None:
        return Node(name=name, kind="null", shown=text("null"))
    kind: Literal["boolean", "number"] = "boolean" if isinstance(value, bool) else "number"
    return Node(name=name, kind=kind, shown=text(json.dumps(value)))


def pretty(value: object) -> str:
    """Write a value as indented JSON in which every character that a page would not show is escaped.

    Reading the text as JSON gives the value back, so it can be edited.
    """
    written = json.dumps(digests.thaw(value), indent=2, ensure_ascii=False)
    hidden = {character for character in set(written) if display.hidden(character)}
    return "".join(json.dumps(character)[1:-1] if character in hidden else character for character in written)


def is_plain(value: str) -> bool:
    """Tell whether a text holds nothing that a page would not show."""
    return not any(display.hidden(character) for character in set(value))


@dataclass(frozen=True, kw_only=True)
class DiffLine:
    """One line of a unified diff; `sign` says to eye and ear what the colour says."""

    sign: Literal["+", "-", " ", "@"]
    shown: Display


def diff(unified: str) -> Iterator[DiffLine]:
    """Split a unified diff into lines with their signs; only what stands before the first hunk is a header."""
    inside = False
    for line in unified.removesuffix("\n").split("\n"):
        if line.startswith("@@"):
            inside = True
        if inside and line[:1] in ("+", "-", " "):
            yield DiffLine(sign=line[0], shown=text(line[1:]))  # type: ignore[arg-type]
        else:
            yield DiffLine(sign="@", shown=text(line))
