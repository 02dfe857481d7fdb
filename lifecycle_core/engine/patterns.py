"""Regular expressions that strangers write, matched in linear time.

The engine is the Rust one inside jsonschema-rs: automata without backtracking, so that no text makes a pattern hang, with the
meaning that JSON Schema gives to patterns (ECMA 262). It knows neither look-around nor back-references. What remains, the size
of the automaton times the length of the text, is bounded on both sides.
"""

import functools
from typing import Final

import jsonschema_rs

MAX_PATTERN: Final = 2000
MAX_COMPILED_BYTES: Final = 192 << 10
MAX_MATCHED_CHARACTERS: Final = 64 << 10


class BudgetSpent(Exception):
    """More text was to be matched than one value may have."""


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> jsonschema_rs.Draft202012Validator | None:
    if len(pattern) > MAX_PATTERN:
        return None
    options = jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED_BYTES, dfa_size_limit=1 << 20)
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
    except (jsonschema_rs.ValidationError, ValueError):
        return None


def compiles(pattern: str) -> bool:
    """Tell whether a pattern is one that we match."""
    return _compiled(pattern) is not None


class Budget:
    """Match patterns against the texts of one value, up to a number of characters in all."""

    def __init__(self) -> None:
        self._left = MAX_MATCHED_CHARACTERS

    def matches(self, pattern: str, text: str) -> bool:
        """Tell whether a pattern is found anywhere in a text. Raises `BudgetSpent`."""
        self._left -= len(text) + 1
        if self._left < 0:
            raise BudgetSpent
        compiled = _compiled(pattern)
        return compiled is not None and compiled.is_valid(text)
