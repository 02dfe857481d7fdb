"""Take leased secrets out of all that leaves a turn: events, messages, output, results (reference: seed-contracts 11).

A secret is found in every form in which it commonly travels: as it is, percent-encoded, escaped as JSON (each of these mixed
character by character), in hexadecimal, and inside base64 at any of its three alignments. Everything that any secret covers is
replaced, so that two overlapping secrets leave nothing of either.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Final, Self

from lifecycle_core.contract.digests import Json

MARK: Final = "[REDACTED]"
# Of a shorter secret, hexadecimal and base64 would be found in innocent text.
MIN_ENCODED: Final = 6
OPENING: Final = 4

type Span = tuple[int, int]


class Redactor:
    """Know the secrets of one turn."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._forms = [form for secret in known for form in _forms(secret)]
        self._any = re.compile("|".join(form.pattern for form in self._forms)) if known else None
        self._longest = max((form.longest for form in self._forms), default=0)

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        spans = self._spans(text)
        return _replaced(text, spans) if spans else text

    def redact(self, value: Json) -> Json:
        """Return a JSON value without secrets in any string at any depth, keys and numbers included."""
        return self._redacted(value) if self._may_cover(value) else value

    def message(self, message: bytes) -> bytes:
        """Return a message of a session without secrets: in JSON, also where they are quoted deeper than text shows."""
        text = self.text(message.decode())
        if self._any is None or "\\" not in text:
            return text.encode()
        try:
            value = json.loads(text)
        except ValueError:
            return text.encode()
        if not self.contains_secret(value):
            return text.encode()
        return json.dumps(self.redact(value), ensure_ascii=False, separators=(",", ":")).encode()

    def contains_secret(self, value: Json) -> bool:
        """Tell whether a JSON value carries a secret anywhere."""
        return self._may_cover(value) and self._covers(value)

    def stream(self) -> "Stream":
        """Return a redactor for one text that comes in pieces."""
        return Stream(self)

    def _may_cover(self, value: Json) -> bool:
        """Tell whether a secret may be anywhere in a value: what is found in one text is found in all of them joined."""
        return self._any is not None and self._any.search("\n".join(_gather(value, []))) is not None

    def _covers(self, value: Json) -> bool:
        match value:
            case str():
                return bool(self._spans(value))
            case dict():
                return any(self._covers(key) or self._covers(item) for key, item in value.items())
            case list() | tuple():
                return any(self._covers(item) for item in value)
            case bool() | None:
                return False
            case _:
                return self._number_covers(value)

    def _redacted(self, value: Json) -> Json:
        match value:
            case str():
                return self.text(value)
            case dict():
                return self._object(value)
            case list() | tuple():
                return [self._redacted(item) for item in value]
            case bool() | None:
                return value
            case _:
                return MARK if self._number_covers(value) else value

    def _object(self, value: dict[str, Json]) -> Json:
        kept: dict[str, Json] = {}
        for key, item in value.items():
            name = self.text(key)
            # Two keys that differ only in a secret stay two.
            unique, number = name, 2
            while unique in kept:
                unique, number = f"{name} {number}", number + 1
            kept[unique] = self._redacted(item)
        return kept

    def _number_covers(self, value: float) -> bool:
        written = str(value)
        return any(end - start >= MIN_ENCODED for start, end in self._spans(written))

    def _spans(self, text: str) -> list[Span]:
        """Return what secrets cover, in order, overlapping parts joined."""
        if self._any is None or not self._any.search(text):
            return []
        return _joined(span for form in self._forms for span in form.spans(text))

    def _undecided(self, text: str) -> int:
        """Return from where on a text may be the beginning of a secret whose rest is still to come."""
        window = max(0, len(text) - self._longest + 1)
        starts = (form.begins_at(text, window) for form in self._forms)
        return min((start for start in starts if start is not None), default=len(text))


def _gather(value: Json, texts: list[str]) -> list[str]:
    """Add every text of a JSON value, keys included, and everything else as it is written."""
    if isinstance(value, dict):
        texts += value
        items: Iterable[Json] = value.values()
    elif isinstance(value, list | tuple):
        items = value
    else:
        texts.append(str(value))
        return texts
    for item in items:
        if type(item) is str:
            texts.append(item)
        else:
            _gather(item, texts)
    return texts


class Stream:
    """Redact a text that comes in pieces, holding back only what may yet turn out to begin a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._covered = 0  # so much at the start of what is held belongs to a secret that is replaced already

    def feed(self, piece: str) -> str:
        """Take the next piece and return what can be shown now."""
        self._held += piece
        return self._release(self._redactor._undecided(self._held))

    def finish(self) -> str:
        """Return the rest."""
        return self._release(len(self._held))

    def _release(self, cut: int) -> str:
        spans = self._redactor._spans(self._held)
        if self._covered:
            spans = _joined([(0, self._covered), *spans])
        shown = _shown(self._held, spans, cut, begun=self._covered > 0)
        self._covered = max((end - cut for start, end in spans if start < cut < end), default=0)
        self._held = self._held[cut:]
        return shown


def _shown(text: str, spans: list[Span], cut: int, *, begun: bool) -> str:
    """Return a text up to a cut with its spans replaced; the first one is not marked again where it `begun` before."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        if start >= cut:
            break
        parts.append(text[at:start])
        if not (begun and start == 0):
            parts.append(MARK)
        at = end
    parts.append(text[at:cut])
    return "".join(parts)


def _replaced(text: str, spans: list[Span]) -> str:
    return _shown(text, spans, len(text), begun=False)


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


# ------------------------------------------------------------------------------------------------- the forms of a secret


@dataclass(frozen=True)
class _Choice:
    """The ways to write one character of a secret, as parts of regular expressions.

    `cut` matches as well where the text ends inside, `begun` where it ends after the first class.
    """

    longest: int
    whole: str
    cut: str
    begun: str

    @classmethod
    def of(cls, ways: Sequence[list[str]]) -> Self:
        """Take the ways to write a character, each a sequence of character classes."""
        return cls(
            longest=max(len(way) for way in ways),
            whole=_either("".join(way) for way in ways),
            cut=_either(_open_ended(way) for way in ways),
            begun=_either(way[0] + _open_ended(way[1:]) for way in ways),
        )


class _Form:
    """One way in which a secret is written: per character, the ways to write it.

    Expressions of this length take milliseconds to compile, so those are made last that are needed least: most texts hold no
    secret, and what begins like one is hardly ever more than its first characters.
    """

    def __init__(self, characters: Iterable[_Choice]) -> None:
        self._choices = list(characters)
        self.longest = sum([choice.longest for choice in self._choices])
        self.pattern = "".join([choice.whole for choice in self._choices])

    @cached_property
    def _full(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _opening(self) -> re.Pattern[str]:
        """Match the first characters, or as many of them as there are where the text ends."""
        return re.compile(self._begun(self._choices[:OPENING]))

    @cached_property
    def _partial(self) -> re.Pattern[str]:
        """Match at the end of a text what may be the beginning of this form: there, every further class matches."""
        return re.compile(rf"{self._begun(self._choices)}\Z")

    def _begun(self, choices: Sequence[_Choice]) -> str:
        return choices[0].begun + "".join([choice.cut for choice in choices[1:]])

    def begins_at(self, text: str, start: int) -> int | None:
        """Return from where on, at `start` or later, a text ends in what may be the beginning of this form."""
        found = self._opening.search(text, start)
        while found:
            if found.end() == len(text) or self._partial.match(text, found.start()):
                return found.start()
            found = self._opening.search(text, found.start() + 1)
        return None

    def spans(self, text: str) -> Iterator[Span]:
        """Find every occurrence, overlapping ones included."""
        found = self._full.search(text)
        while found:
            yield found.span()
            found = self._full.search(text, found.start() + 1)


def _either(ways: Iterable[str]) -> str:
    return f"(?:{'|'.join(ways)})"


def _open_ended(way: Iterable[str]) -> str:
    return "".join(rf"(?:{one}|\Z)" for one in way)


def _forms(secret: str) -> Iterator[_Form]:
    yield _Form(_written(character) for character in secret)
    content = secret.encode("utf-8", "surrogatepass")
    if len(content) < MIN_ENCODED:
        return
    yield _Form(_byte(byte) for byte in content)
    for alignment in range(3):
        core = _base64_core(content, alignment)
        if len(core) >= MIN_ENCODED:
            yield _Form(_digit(digit) for digit in core)


# The two alphabets of base64 differ in two digits.
_BASE64: Final = {"+": "[+-]", "/": "[/_]"}


def _base64_core(content: bytes, alignment: int) -> str:
    """Return the base64 digits that depend on the secret alone when `alignment` bytes stand before it in its group."""
    padded = b"\0" * alignment + content
    digits = base64.b64encode(padded).decode().rstrip("=")
    return digits[-(-alignment * 8 // 6) : len(padded) * 8 // 6]


# Secrets come and go with every turn, characters do not: what is remembered tells which ones occur, not in which order.
@lru_cache(maxsize=1024)
def _written(character: str) -> _Choice:
    """Return the ways to write a character: as it is, percent-encoded, escaped as JSON up to three times, as a reference.

    A chat keeps a message, in it the text of a call's arguments, in that perhaps the body of a request: JSON in JSON in JSON.
    """
    percent = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    units = character.encode("utf-16-be", "surrogatepass").hex()
    unicode = "".join("\\u" + units[start : start + 4] for start in range(0, len(units), 4))
    escaped = json.dumps(character, ensure_ascii=False)[1:-1]
    twice = json.dumps(escaped, ensure_ascii=False)[1:-1]
    thrice = json.dumps(twice, ensure_ascii=False)[1:-1]
    plain = {
        character,
        escaped,
        twice,
        thrice,
        "\\/" if character == "/" else escaped,
        _REFERENCES.get(character, character),
    }
    if character == " ":
        plain.add("+")
    ways = [[re.escape(one) for one in way] for way in plain]
    ways += [
        _hexadecimal(way) for way in (percent, *(unicode.replace("\\", "\\" * run) for run in (1, 2, 4)))
    ]
    return _Choice.of(sorted(ways, key=len, reverse=True))


@cache
def _byte(byte: int) -> _Choice:
    return _Choice.of([_hexadecimal(f"{byte:02x}")])


@cache
def _digit(digit: str) -> _Choice:
    return _Choice.of([[_BASE64.get(digit, digit)]])


_REFERENCES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}


def _hexadecimal(way: str) -> list[str]:
    """Return a way in which hexadecimal digits may have either case; the `u` of an escape is no digit and stays as it is."""
    return [f"[{one}{one.upper()}]" if one in "abcdef" else re.escape(one) for one in way]
