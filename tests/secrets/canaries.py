"""Secrets that can be recognised, the forms in which they travel, and a scanner that knows those forms.

Every canary of a flock begins and ends with the same marks. Whoever leaks one leaks a mark, so a scan looks for two marks in
every form, and not for each canary: that is fast, and it also finds a canary of which a half has been replaced.
"""

import base64
import html
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

# What a key may contain that is awkward to quote; the half of all canaries have it.
AWKWARD: Final = "\"\\/+=&<%>'"
ABOUT: Final = 40


def every_byte_quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def every_character_escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


def in_base64(before: int) -> Callable[[str], str]:
    return lambda text: base64.b64encode(b"x" * before + text.encode() + b"tail").decode()


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


FORMS: Final[Mapping[str, Callable[[str], str]]] = {
    "raw": str,
    "url": lambda text: quote(text, safe=""),
    "url, every byte": every_byte_quoted,
    "base64 after 0": in_base64(0),
    "base64 after 1": in_base64(1),
    "base64 after 2": in_base64(2),
    "url-safe base64": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "json": in_json,
    "json in json": lambda text: in_json(in_json(text)),
    "json, every character": every_character_escaped,
    "html": html.escape,
}


@dataclass(frozen=True)
class Canary:
    """A secret with its number in the flock."""

    number: int
    secret: str

    def form(self, place: int) -> str:
        """Return the secret in one of its forms; at another place in another one."""
        ways = list(FORMS.values())
        return ways[(self.number + place) % len(ways)](self.secret)


@dataclass(frozen=True)
class Flock:
    """Canaries that share their marks, which nothing else has ever had."""

    head: str = field(default_factory=lambda: f"Hd{secrets.token_hex(5)}")
    tail: str = field(default_factory=lambda: f"{secrets.token_hex(5)}Tl")

    def canary(self, number: int) -> Canary:
        middle = secrets.token_urlsafe(9) + (AWKWARD if number % 2 else "-")
        return Canary(number, f"{self.head}{number:03d}{middle}{self.tail}")

    def found_in(self, haystack: bytes) -> list[str]:
        """Return where canaries are: the form, and what stands around."""
        return [
            f"{name}: …{haystack[max(0, at - ABOUT) : at + ABOUT]!r}…"
            for name, needle in self._needles()
            if (at := haystack.find(needle)) >= 0
        ]

    def _needles(self) -> Iterator[tuple[str, bytes]]:
        for mark in (self.head, self.tail):
            for name in ("raw", "url, every byte", "hex", "HEX", "json, every character"):
                yield name, FORMS[name](mark).encode()
            yield "url, every byte, lower case", every_byte_quoted(mark).lower().encode()
            for before in range(3):
                for altchars in (b"+/", b"-_"):
                    yield f"base64 after {before}", core_of_base64(mark.encode(), before, altchars)


def core_of_base64(content: bytes, before: int, altchars: bytes) -> bytes:
    """Return the digits that the content alone decides, whatever stands around it."""
    padded = b"\0" * before + content
    whole = base64.b64encode(padded, altchars)
    return whole[(before * 8 + 5) // 6 : len(padded) * 8 // 6]
