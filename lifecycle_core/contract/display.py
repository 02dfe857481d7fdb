"""What a person is shown of an agent's text: escaped, counted, flagged; one rule for page, REST and mail."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A stretch of shown text: plain text as it is, or a visible token such as `U+202E` for a character that is not."""

    kind: Literal["text", "token"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Display:
    """Text made safe to look at. `text` is the whole with its tokens in angle brackets, for plain channels.

    `flags` are stable words such as `bidi-control`, `zero-width`, `tag`, `mixed-script-host`, `punycode`, `long-space-run`.
    """

    text: str
    segments: Sequence[Segment]
    lines: int
    characters: int
    flags: Sequence[str]
