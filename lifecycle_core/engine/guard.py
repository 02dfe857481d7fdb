"""What plugins may not change: the identity of what happens, the trusted context, and all that a stage does not let them.

Nothing of what a plugin hands back is kept but the fields that the stage makes mutable, frozen again; so the snapshot stays
independent of the plugin in both directions. Reference: seed-contracts 23.2 and 23.3.
"""

import dataclasses

from lifecycle_core.contract.frozen import freeze
from lifecycle_core.contract.subjects import Subject


class Refused(Exception):
    """A plugin changed what it may not change."""


def checked[S: Subject](before: S, after: object, mutable: frozenset[str]) -> S:
    """Return the snapshot that a plugin's replacement stands for; nothing, or the very snapshot, keeps it. Raises `Refused`."""
    if after is None or after is before:
        return before
    if type(after) is not type(before):
        raise Refused(f"a {type(before).__name__} must not become a {type(after).__name__}")
    changes = {}
    for name in before.__dataclass_fields__:
        was, now = getattr(before, name), getattr(after, name)
        if now is was:
            continue
        if name in mutable:
            changes[name] = freeze(now)
        elif now != was:
            raise Refused(_forbidden(name))
    return dataclasses.replace(before, **changes) if changes else before


def _forbidden(name: str) -> str:
    return "trusted execution context must not change" if name == "trusted" else f"{name} must not change"
