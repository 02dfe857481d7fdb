"""Find hosts in a text that are not what they look like."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

# The scripts whose letters are taken for each other. Unicode names begin with the script.
CONFUSABLE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
# Letters of other scripts that look like Latin ones: a label made of these alone reads as a Latin name.
LATIN_LOOKING: Final = frozenset("авеѕікмнорсԁԛԝтухһјӏԍѵгпьαινοτυρκωσεօոսհցԼ")

_AUTHORITY = re.compile(r"://([^\s/?#\\]*+)")
_DOTTED = re.compile(r"(?<![\w.-])[\w-]++(?:[.\u3002\uff0e\uff61][\w-]++)+")
_DOT = re.compile("[.\u3002\uff0e\uff61]")
_PUNYCODE = re.compile(r"(?i)(?<![a-z0-9-])xn--[a-z0-9-]")
_WORD = re.compile(r"[^\W\d_]{2,}")


def flags(text: str) -> set[str]:
    """Return the flags of the hosts and words in a text."""
    found = {"punycode"} if _PUNYCODE.search(text) else set()
    authorities = _AUTHORITY.findall(text)
    if any("@" in authority for authority in authorities):
        found.add("user-in-url")
    if text.isascii():
        return found
    for authority in authorities:
        found.update(_of_host(authority.rpartition("@")[2]))
    if any(_deceives(dotted) for dotted in set(_DOTTED.findall(text)) if not dotted.isascii()):
        found.add("mixed-script-host")
    if any(_mixes(word) for word in set(_WORD.findall(text)) if not word.isascii()):
        found.add("mixed-script-word")
    return found


def _mixes(word: str) -> bool:
    """Tell whether a word mixes scripts; a unit or a symbol such as kΩ or ΔT is no word."""
    scripts = _scripts(word)
    return len(scripts) > 1 and (len(word) > 3 or "GREEK" not in scripts)


def _of_host(host: str) -> Iterator[str]:
    if host.isascii():
        return
    yield "non-ascii-host"
    if len(_scripts(host)) > 1 or _deceives(host):
        yield "mixed-script-host"


def _deceives(host: str) -> bool:
    """Tell whether a label mixes scripts, or would be read as Latin under a Latin top level."""
    *_, last = labels = _DOT.split(host)
    latin = last.isascii() and last.isalpha()
    return any(len(_scripts(label)) > 1 or (latin and _looks_latin(label)) for label in set(labels))


def _looks_latin(label: str) -> bool:
    letters = {letter for letter in label.lower() if letter.isalpha()}
    return bool(letters) and letters <= LATIN_LOOKING


def _scripts(word: str) -> set[str]:
    return {script for letter in set(word) if letter.isalpha() and (script := _script(letter)) in CONFUSABLE}


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
