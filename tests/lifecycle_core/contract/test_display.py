"""What agents write is shown whole, and nothing in it hides, moves or covers anything."""

import json
import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.display import Display, display, display_value, hidden, token

# The corpus is made from code points: what stands in a file can itself be misread.
EVERY = [chr(point) for point in range(0x110000)]
NOT_SHOWN = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"}
VARIATION = [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x180B, 0x180C, 0x180D, 0x180F]
FILLERS = [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0]


def tokens(shown: Display) -> list[str]:
    return [segment.text for segment in shown.segments if segment.kind == "token"]


def plain(shown: Display) -> str:
    return "".join(segment.text for segment in shown.segments if segment.kind == "text")


# ------------------------------------------------------------------------------------------------------ single characters


def test_every_character_of_a_category_that_is_not_seen_is_a_token() -> None:
    missed = [
        token(character)
        for character in EVERY
        if unicodedata.category(character) in NOT_SHOWN and character not in " \n\t" and not hidden(character)
    ]
    assert missed == []


@pytest.mark.parametrize("point", VARIATION + FILLERS + [0xE0001, 0xE0041, 0xE007F, 0x1D173, 0x2065, 0xFFF0])
def test_every_ignorable_character_is_a_token(point: int) -> None:
    shown = display(f"a{chr(point)}b")
    assert tokens(shown) == [f"U+{point:04X}"]
    assert plain(shown) == "ab"
    assert shown.text == f"a<U+{point:04X}>b"


def test_letters_digits_marks_and_signs_are_shown_as_they_are() -> None:
    hidden_ones = [
        token(character)
        for character in EVERY
        if unicodedata.category(character)[0] in "LNPS"
        and ord(character) not in FILLERS
        and hidden(character)
    ]
    assert hidden_ones == [token("\U0001d159")]  # a note without a head


@pytest.mark.parametrize(
    ("point", "flag"),
    [
        *((point, "bidi-control") for point in (0x061C, 0x200E, 0x200F, 0x202A, 0x202E, 0x2066, 0x2069)),
        *((point, "zero-width") for point in (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD)),
        *((point, "tag") for point in (0xE0001, 0xE0041, 0xE007F)),
        *((point, "variation-selector") for point in (0xFE0F, 0xE0100)),
        *((point, "control") for point in (0x00, 0x07, 0x08, 0x0B, 0x0D, 0x1B, 0x7F, 0x85, 0x9B)),
        *((point, "separator") for point in (0xA0, 0x2003, 0x2028, 0x2029, 0x3000)),
        *((point, "private-use") for point in (0xE000, 0xF0000, 0x10FFFD)),
        *((point, "unassigned") for point in (0x0378, 0xFFFF, 0x10FFFF)),
        *((point, "surrogate") for point in (0xD800, 0xDFFF)),
        *((point, "invisible") for point in (0x1D173, 0xFFF9, 0x3164, 0x2800)),
        *((point, "overlay") for point in (0x0336, 0x0338, 0x20DD)),
    ],
)
def test_what_is_hidden_is_flagged(point: int, flag: str) -> None:
    shown = display(f"a{chr(point)}b")
    assert shown.flags == (flag,)
    assert tokens(shown) == [f"U+{point:04X}"]


def test_a_repeated_character_is_counted() -> None:
    assert tokens(display("a" + chr(0x200B) * 400)) == ["[400 × U+200B]"]
    assert tokens(display("a" + chr(0x200B) * 3)) == ["U+200B"] * 3


# ---------------------------------------------------------------------------------------------------------- known deceits


@pytest.mark.parametrize(
    ("text", "shown", "flag"),
    [
        (
            f"curl http://safe.example/{chr(0x202E)}{chr(0x2066)}moc.evil",
            "<U+202E><U+2066>moc.evil",
            "bidi-control",
        ),
        (f"rm -rf /tmp/{chr(0x200B)}x", "rm -rf /tmp/<U+200B>x", "zero-width"),
        (f"{chr(27)}[2K done", "<U+001B>[2K done", "control"),
        ("ls" + " " * 400 + "; rm -rf /", "ls<[400 spaces]>; rm -rf /", "long-space-run"),
        ("ls" + "\t" * 40 + "; rm -rf /", "ls<[40 tabs]>; rm -rf /", "long-space-run"),
        ("ls" + " \t" * 40 + "; rm -rf /", "ls<[80 spaces and tabs]>; rm -rf /", "long-space-run"),
        ("ls" + "\n" * 100 + "rm -rf /", "ls\n<[99 empty lines]>\nrm -rf /", "long-blank-run"),
        ("ls\n" + " " * 300 + "rm", "ls\n<[300 spaces]>rm", "long-space-run"),
        ("".join(chr(0xE0000 + ord(letter)) for letter in "RM"), "<U+E0052><U+E004D>", "tag"),
        ("e" + chr(0x301) * 30, "<[25 × U+0301]>", "mark-run"),
        ("<U+202E>", "<U+003C>U+202E>", "look-alike-token"),
        ("<[12 spaces]>", "<U+003C>[12 spaces]>", "look-alike-token"),
        ("see https://safe.example@evil.test/", "https://safe.example@evil.test/", "user-in-url"),
        ("http://xn--pple-43d.com/", "http://xn--pple-43d.com/", "punycode"),
        ("XN--pple-43d.com", "XN--pple-43d.com", "punycode"),
    ],
)
def test_a_known_deceit_is_made_visible(text: str, shown: str, flag: str) -> None:
    result = display(text)
    assert shown in result.text
    assert flag in result.flags


CYRILLIC_A, GREEK_O, ARMENIAN_O, CHEROKEE_A = chr(0x430), chr(0x3BF), chr(0x585), chr(0x13AA)


@pytest.mark.parametrize(
    "text",
    [
        f"http://{CYRILLIC_A}pple.com/",
        f"{CYRILLIC_A}pple.com",
        f"mail bob@{CYRILLIC_A}pple.com now",
        f"ftp://g{GREEK_O}{GREEK_O}gle.com",
        f"https://g{ARMENIAN_O}ogle.com:443/x",
        f"https://{CHEROKEE_A}pple.com",
        "https://" + "".join(map(chr, (0x430, 0x440, 0x440, 0x4CF, 0x435))) + ".com",
        "".join(map(chr, (0x430, 0x440, 0x440, 0x4CF, 0x435))) + ".com",
        f"https://user@{CYRILLIC_A}pple.com/",
    ],
)
def test_a_host_of_mixed_scripts_is_flagged(text: str) -> None:
    assert "mixed-script-host" in display(text).flags


def test_a_word_of_mixed_scripts_is_flagged() -> None:
    assert "mixed-script-word" in display(f"send_em{CYRILLIC_A}il").flags


@pytest.mark.parametrize(
    "text",
    [
        "שלום עולם",
        "مرحبا بالعالم، كيف الحال؟",
        "你好，世界。这是一个测试",
        "こんにちは世界、カタカナ",
        "안녕하세요 세계",
        "Привет, мир! отчёт.pdf",
        "Γειά σου Κόσμε",
        "Բարեւ աշխարհ",
        "नमस्ते दुनिया",
        "สวัสดีชาวโลก",
        "Tiếng Việt, Français, Größe, naïve",
        unicodedata.normalize("NFD", "Tiếng Việt, Größe"),
        "10 μm, ΔT = 5 kΩ, x² ≤ π",
        "🎉 done 👍🏽 🚀",
        "https://example.com/пример?q=值",
        "def f(x):\n    if x:\n        return 1\n\n    return 2\n",
        "a\tb\tc",
        "<b>bold</b> & <img onerror=x> [text](http://other.example) `code`",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    shown = display(text)
    assert (shown.text, shown.flags) == (text, ())
    assert [segment.text for segment in shown.segments] == [text]


def test_the_joiners_of_an_emoji_are_shown() -> None:
    family = "".join(map(chr, (0x1F468, 0x200D, 0x1F469)))
    assert display(family).text == f"{chr(0x1F468)}<U+200D>{chr(0x1F469)}"


def test_spaces_at_the_end_are_shown() -> None:
    assert display("tool ").text == "tool<[1 space]>"
    assert display("a  \nb").text == "a<[2 spaces]>\nb"
    assert display("tool ").flags == ()


def test_lines_and_characters_are_those_of_the_original() -> None:
    shown = display("one\n\n\n\n\n\ntwo" + chr(0x1F600))
    assert (shown.lines, shown.characters) == (7, 13)
    assert (display("").lines, display("").characters, display("").segments) == (0, 0, ())


# ------------------------------------------------------------------------------------------------------------ any text

ODD = st.sampled_from(
    [chr(point) for point in (0x202E, 0x200B, 0x301, 0x336, 0xD800, 0xE0041, 0xFE0F, 0x430, 0x1B)]
)
TEXTS = st.lists(
    st.text(max_size=3)
    | ODD
    | st.sampled_from([" ", "    ", "\n", "\n\n\n\n\n\n", "<", "U+0041>", "[9 tabs]>"])
).map("".join)


def restored(shown: str) -> str:
    """Read a shown text back: every token says what stood there."""

    def meant(found: re.Match[str]) -> str:
        if found["point"]:
            return chr(int(found["point"], 16))
        count, what = int(found["count"]), found["what"]
        if what.startswith("× "):
            return chr(int(what[4:], 16)) * count
        if what.startswith("empty"):
            return "\n" * (count - 1)  # a line feed stands before and after the token
        return {"space": " ", "tab": "\t"}[what.removesuffix("s")] * count

    return re.sub(r"<(?:U\+(?P<point>[0-9A-F]{4,6})|\[(?P<count>\d+) (?P<what>[^\]]+)\])>", meant, shown)


@given(text=TEXTS)
@settings(max_examples=400, deadline=None)
def test_every_text_can_be_read_back(text: str) -> None:
    shown = display(text)
    if "spaces and tabs" not in shown.text:
        assert restored(shown.text) == text
    assert not any(hidden(character) for character in shown.text)
    assert plain(shown).count("<") <= text.count("<")


@given(text=st.text())
@settings(max_examples=200, deadline=None)
def test_segments_and_text_say_the_same(text: str) -> None:
    shown = display(text)
    assert shown.text == "".join(
        f"<{segment.text}>" if segment.kind == "token" else segment.text for segment in shown.segments
    )
    assert all(segment.text for segment in shown.segments)
    assert shown.characters == len(text)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "lorem ipsum ",
            "a",
            "a.",
            " a",
            "    a",
            "\n ",
            "<",
            "<U+0041>",
            "http://",
            "://",
            "xn--",
            "-",
            "a@",
            "\t",
        ),
        *(
            chr(0x430) + "a",
            "http://" + chr(0x430),
            chr(0x430) + ".",
            "a" + chr(0x200B),
            chr(0x200B),
            "e" + chr(0x301) * 9,
        ),
        *(chr(0x4F60), chr(0xD800), '"', "\\", "\\u0041"),
    ],
)
def test_long_texts_are_shown_quickly(unit: str) -> None:
    text = (unit * 65536)[:65536]
    began = time.process_time()
    display(text)
    assert time.process_time() - began < 2


def test_many_different_hidden_characters_are_shown_quickly() -> None:
    began = time.process_time()
    display("".join(chr(0x60000 + number) for number in range(65536)))
    assert time.process_time() - began < 3


# ---------------------------------------------------------------------------------------------------------------- values


def test_a_value_is_laid_out_over_lines() -> None:
    value: Json = {"b": [1, 2.5, {}, []], "a": f'x{chr(0x202E)}y\n"z', "c": {"k": None, "t": True}}
    assert display_value(value).text == (
        '{\n  "a": "x<U+202E>y\\n\\"z",\n  "b": [\n    1,\n    2.5,\n    {},\n    []\n  ],\n'
        '  "c": {\n    "k": null,\n    "t": true\n  }\n}'
    )


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('ab"\\{[,: \n'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\:{ '), inner, max_size=3),
    max_leaves=10,
)


@given(value=values)
@settings(max_examples=200, deadline=None)
def test_every_byte_of_a_value_is_shown(value: Json) -> None:
    try:
        canonical = digests.canonical(value)
    except errors.NotCanonical:
        return
    shown = restored(display_value(value).text)
    assert digests.canonical(json.loads(shown, parse_int=float)) == canonical


@pytest.mark.parametrize("value", [float("nan"), 2**60, "\ud800"])
def test_a_value_that_has_no_exact_form_is_refused(value: Json) -> None:
    with pytest.raises(errors.NotCanonical):
        display_value(value)
