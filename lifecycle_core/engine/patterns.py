"""Regular expressions that strangers write, matched in linear time.

The engine is the Rust one inside jsonschema-rs: automata without backtracking, so that no text makes a pattern hang, with the
meaning that JSON Schema gives to patterns (ECMA 262). It knows neither look-around nor back-references. What remains, the size
of the automaton times the length of the text, is bounded on both sides.
"""

import functools
from dataclasses import dataclass
from typing import Final

import jsonschema_rs

MAX_PATTERN: Final = 2000
# How large a compiled pattern may be, and what matching one character with it costs.
SIZES: Final = ((64 << 10, 1), (512 << 10, 8))
MAX_COST: Final = 128 << 10


class BudgetSpent(Exception):
    """More text was to be matched than one value may have."""


@dataclass(frozen=True)
class _Pattern:
    matcher: jsonschema_rs.Draft202012Validator
    cost: int


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Pattern | None:
    for size, cost in SIZES if len(pattern) <= MAX_PATTERN else ():
        options = jsonschema_rs.RegexOptions(size_limit=size, dfa_size_limit=1 << 20)
        try:
            return _Pattern(
                jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options), cost
            )
        except (jsonschema_rs.ValidationError, ValueError):
            continue
    return None


def compiles(pattern: str) -> bool:
    """Tell whether a pattern is one that we match."""
    return _compiled(pattern) is not None


class Budget:
    """Match patterns against the texts of one value, up to a cost in all."""

    def __init__(self) -> None:
        self._left = MAX_COST

    def matches(self, pattern: str, text: str) -> bool:
        """Tell whether a pattern is found anywhere in a text. Raises `BudgetSpent`."""
        compiled = _compiled(pattern)
        if compiled is None:
            return False
        self._left -= compiled.cost * (len(text) + 1)
        if self._left < 0:
            raise BudgetSpent
        return compiled.matcher.is_valid(text)
