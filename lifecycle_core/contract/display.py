"""What a person is shown of an agent's text: escaped, counted, flagged; one rule for page, REST and mail.

Nothing is ever left out. A character that a person would not see, or that would move or cover others, becomes a token that
names it; a run of blanks becomes a token that counts it. What people write in their languages stays as it is; of an emoji that
is joined from several, the joiners and variation selectors are shown as tokens between its parts.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final, Literal

from lifecycle_core.contract import digests, hosts
from lifecycle_core.contract.digests import Json

MAX_INDENT: Final = 24
MAX_MARKS: Final = 5
MIN_REPEATS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A stretch of shown text: plain text as it is, or a visible token such as `U+202E` for a character that is not.

    A token is `U+` with four to six hexadecimal digits, or counts something: `[12 spaces]`, `[40 empty lines]`, `[9 × U+200B]`.
    """

    kind: Literal["text", "token"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Display:
    """Text made safe to look at. `text` is the whole with its tokens in angle brackets, for plain channels.

    `lines` and `characters` (code points) count the original. `flags` are stable words: bidi-control, control, zero-width, tag,
    variation-selector, invisible, separator, private-use, unassigned, surrogate, overlay, mark-run, long-space-run,
    long-blank-run, look-alike-token, mixed-script-host, non-ascii-host, punycode, user-in-url, mixed-script-word.
    """

    text: str
    segments: Sequence[Segment]
    lines: int
    characters: int
    flags: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: Literal["text", "token"]
    text: str
    flag: str = ""


# What is looked for beside single characters. A `<` that would make text look like one of our tokens is written as a token.
_SPECIAL = re.compile(
    r"(?P<trailing>[ \t]+(?=\n|\Z))"
    rf"|(?P<indent>(?:(?<=\n)|\A)[ \t]{{1,{MAX_INDENT}}}(?![ \t]))"
    r"|(?P<blanks>[ \t]{4,})"
    r"|(?P<empty>\n{5,})"
    r"|(?P<fake><(?=U\+[0-9A-F]{4,6}>|\[[0-9]+ [^\]\n]{1,20}\]>))"
)

# Printable to Unicode, but nothing that one sees: fillers, blank signs, variation selectors, joiners.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
_FLAGGED: Final = (
    ("bidi-control", re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")),
    ("zero-width", re.compile("[\u00ad\u034f\u180e\u200b-\u200d\u2060-\u2064\ufeff]")),
    ("tag", re.compile("[\U000e0000-\U000e007f]")),
    ("variation-selector", re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")),
)
_OF_CATEGORY: Final = {
    "Cc": "control",
    "Co": "private-use",
    "Cn": "unassigned",
    "Cs": "surrogate",
    "Zl": "separator",
    "Zp": "separator",
    "Zs": "separator",
}


def display(text: str) -> Display:
    """Make a text safe to look at."""
    pieces = list(_pieces(text))
    segments = tuple(_segments(pieces))
    return Display(
        text="".join(f"<{part.text}>" if part.kind == "token" else part.text for part in segments),
        segments=segments,
        lines=text.count("\n") + 1 if text else 0,
        characters=len(text),
        flags=tuple(sorted({piece.flag for piece in pieces if piece.flag} | hosts.flags(text))),
    )


def display_value(value: Json) -> Display:
    """Make a JSON value safe to look at: its canonical form, laid out over lines.

    Without the layout outside of strings it is byte for byte what a digest covers. Raises `errors.NotCanonical`.
    """
    return display(_laid_out(digests.canonical(value).decode()))


@lru_cache(maxsize=4096)
def hidden(character: str) -> str:
    """Return why a single character is shown as a token (one of the flags), or an empty text where it is shown as it is."""
    if character.isprintable() and not _BLANK.match(character):
        covering = unicodedata.category(character) == "Me" or unicodedata.combining(character) == 1
        return "overlay" if covering else ""
    if character in "\n\t":
        return ""
    for flag, pattern in _FLAGGED:
        if pattern.match(character):
            return flag
    return _OF_CATEGORY.get(unicodedata.category(character), "invisible")


def token(character: str) -> str:
    """Return the token that names a character."""
    return f"U+{ord(character):04X}"


def _pieces(text: str) -> Iterator[_Piece]:
    at = 0
    for found in _SPECIAL.finditer(text):
        if found.lastgroup == "indent":
            continue
        yield from _plain(text[at : found.start()])
        yield from _special(found.lastgroup or "", found.group())
        at = found.end()
    yield from _plain(text[at:])


def _special(kind: str, run: str) -> Iterator[_Piece]:
    if kind == "fake":
        yield _Piece("token", token(run), "look-alike-token")
    elif kind == "empty":
        yield _Piece("text", "\n")
        yield _Piece("token", f"[{len(run) - 1} empty lines]", "long-blank-run")
        yield _Piece("text", "\n")
    else:
        yield _Piece("token", f"[{_counted(run)}]", "long-space-run" if len(run) > 3 else "")


def _counted(run: str) -> str:
    unit = {" ": "space", "\t": "tab"}.get(run[0] if len(set(run)) == 1 else "", "")
    if not unit:
        return f"{len(run)} spaces and tabs"
    return f"{len(run)} {unit}{'' if len(run) == 1 else 's'}"


def _plain(stretch: str) -> Iterator[_Piece]:
    special = {
        character for character in set(stretch) if hidden(character) or unicodedata.combining(character)
    }
    if not special:
        if stretch:
            yield _Piece("text", stretch)
        return
    before = "\n"  # a mark without a letter before it would sit on a token or beside the text
    for is_special, run in groupby(stretch, special.__contains__):
        if is_special:
            yield from _escaped(run, before)
        else:
            plain = "".join(run)
            before = plain[-1]
            yield _Piece("text", plain)


def _escaped(run: Iterator[str], before: str) -> Iterator[_Piece]:
    room = 0 if before == "\n" else MAX_MARKS
    for character, repeated in groupby(run):
        count = len(list(repeated))
        reason = hidden(character)
        fits = 0 if reason else min(count, room)
        if fits:
            yield _Piece("text", character * fits)
        yield from _named(character, count - fits, reason or "mark-run")
        room = 0 if fits < count else room - fits


def _named(character: str, count: int, reason: str) -> Iterator[_Piece]:
    if count >= MIN_REPEATS:
        yield _Piece("token", f"[{count} × {token(character)}]", reason)
    else:
        yield from (_Piece("token", token(character), reason) for _ in range(count))


def _segments(pieces: Sequence[_Piece]) -> Iterator[Segment]:
    for kind, group in groupby(pieces, lambda piece: piece.kind):
        if kind == "token":
            yield from (Segment(kind="token", text=piece.text) for piece in group)
        elif joined := "".join(piece.text for piece in group):
            yield Segment(kind="text", text=joined)


# ------------------------------------------------------------------------------------------------------- JSON over lines

_JSON = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*+")|(?P<open>[{\[])(?P<close>[}\]])?|(?P<end>[}\]])|(?P<mark>[,:])'
)


def _laid_out(canonical: str) -> str:
    parts: list[str] = []
    depth, at = 0, 0
    for found in _JSON.finditer(canonical):
        parts.append(canonical[at : found.start()])
        at = found.end()
        if found["open"] and not found["close"]:
            depth += 1
            parts.append(found["open"] + _line(depth))
        elif found["end"]:
            depth -= 1
            parts.append(_line(depth) + found["end"])
        elif found["mark"]:
            parts.append(": " if found["mark"] == ":" else "," + _line(depth))
        else:
            parts.append(found.group())
    return "".join(parts) + canonical[at:]


def _line(depth: int) -> str:
    return "\n" + " " * min(2 * depth, MAX_INDENT)
