"""Find the strings that are marked for translation, without the gettext programs.

Python is read as a syntax tree; templates go through Django's own translation into gettext calls first.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils.translation import template

# Which argument is what, by function name; `_lazy` and `_noop` forms are the same.
ARGUMENTS = {
    "_": ("text",),
    "gettext": ("text",),
    "ngettext": ("text", "plural"),
    "pgettext": ("context", "text"),
    "npgettext": ("context", "text", "plural"),
}
STRING = r"""u?(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
CALL = re.compile(rf"\b(?:{'|'.join(ARGUMENTS)})\((?:{STRING}|count|[,\s])+\)")


@dataclass(frozen=True, order=True)
class Marked:
    """One string to translate, as a catalogue names it."""

    text: str
    plural: str = ""
    context: str = ""


def found(roots: list[Path]) -> dict[Marked, list[tuple[str, str]]]:
    """Map every marked string under some folders to the places (file, line) where it stands."""
    places: dict[Marked, list[tuple[str, str]]] = {}
    for path in sorted(path for root in roots for path in root.rglob("*") if path.is_file()):
        for marked, line in in_file(path):
            places.setdefault(marked, []).append((str(path), line))
    return places


def in_file(path: Path) -> Iterator[tuple[Marked, str]]:
    """Read one file, if it is of a kind that can hold marks."""
    if path.suffix == ".py":
        yield from in_python(path.read_text())
    elif path.suffix in {".html", ".txt"}:
        yield from in_template(path)


def in_python(source: str) -> Iterator[tuple[Marked, str]]:
    """Find calls of the gettext functions with literal arguments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (marked := of_call(node)):
            yield marked, str(node.lineno)


def in_template(path: Path) -> Iterator[tuple[Marked, str]]:
    """Find translate and blocktranslate tags."""
    if not settings.configured:
        settings.configure()
    for call in CALL.finditer(template.templatize(path.read_text(), origin=str(path))):
        yield from ((marked, "") for marked, _ in in_python(call[0]))


def of_call(call: ast.Call) -> Marked | None:
    """Read the literals of a call, or nothing if it is another function or its text is computed."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    parts = ARGUMENTS.get(name.removesuffix("_lazy").removesuffix("_noop"), ())
    literals = [
        node.value for node in call.args if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    if not parts or len(literals) < len(parts):
        return None
    return Marked(**dict(zip(parts, literals, strict=False)))
