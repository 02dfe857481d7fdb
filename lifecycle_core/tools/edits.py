"""Change a text by exact replacements.

A replacement names what it replaces word for word, and that must stand in the text exactly once: so an edit either means one
place or nothing, whatever has happened to the lines around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import ToolError


@dataclass(frozen=True)
class Edit:
    """Put `new` where `old` stands."""

    old: str
    new: str


def parsed(value: Json) -> list[Edit]:
    """Return the edits of a call's arguments. Raises `ToolError` ARGUMENTS_INVALID."""
    if not isinstance(value, list) or not value:
        raise ToolError("ARGUMENTS_INVALID", "edits must be a list with at least one edit")
    return [_edit(item) for item in value]


def _edit(item: Json) -> Edit:
    match item:
        case {"old": str(old), "new": str(new), **more} if old and not more:
            return Edit(old, new)
    raise ToolError("ARGUMENTS_INVALID", "an edit has an old text, which is not empty, and a new one")


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return a text after edits, each made in what the one before has left. Raises `ToolError` EDIT_REFUSED."""
    for number, edit in enumerate(edits, 1):
        at = text.find(edit.old)
        if at < 0:
            raise ToolError("EDIT_REFUSED", f"edit {number}: the file does not hold the old text")
        if text.find(edit.old, at + 1) >= 0:
            raise ToolError("EDIT_REFUSED", f"edit {number}: the old text stands in more than one place")
        text = text[:at] + edit.new + text[at + len(edit.old) :]
    return text
