"""No secret gets through in any form, at any depth, at any border between two pieces."""

import base64
import html
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle_core.engine.redaction import MARK, Redactor

CANARY = 'sk-Canary/7+x%20 "q"\\é😀=='


def lower_percent(secret: str) -> str:
    return "".join(f"%{byte:02x}" for byte in secret.encode())


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "quoted": lambda secret: quote(secret, safe=""),
    "quoted, slashes kept": quote,
    "quoted as a form": quote_plus,
    "every byte quoted": lower_percent,
    "as JSON": lambda secret: json.dumps(secret)[1:-1],
    "as JSON with all characters": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "as JSON with escaped slashes": lambda secret: json.dumps(secret)[1:-1].replace("/", "\\/"),
    "as JSON in JSON": lambda secret: json.dumps(json.dumps(secret))[1:-1],
    "as HTML": html.escape,
    "as lower hexadecimal": lambda secret: secret.encode().hex(),
    "as upper hexadecimal": lambda secret: secret.encode().hex().upper(),
    **{
        f"as base64 after {before} bytes": lambda secret, before=before: base64.b64encode(  # type: ignore[misc]
            b"u" * before + secret.encode() + b"tail"
        ).decode()
        for before in range(6)
    },
    **{
        f"as URL-safe base64 after {before} bytes": lambda secret, before=before: base64.urlsafe_b64encode(  # type: ignore[misc]
            b"\xff" * before + secret.encode()
        ).decode()
        for before in range(3)
    },
}


def core(form: str, secret: str) -> str:
    """Return what must not be seen of a form: of base64, the part that the secret alone decides."""
    if "base64" not in form:
        return FORMS[form](secret)
    digits = FORMS[form](secret)
    return digits[4:-8]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", [CANARY, "sk-0123456789abcdefghij", "пароль-пароль", "a.b*c[d](e)|f?"])
def test_a_secret_is_replaced_in_every_form(form: str, secret: str) -> None:
    redactor = Redactor([secret])
    text = f"before {FORMS[form](secret)} after"
    shown = redactor.text(text)
    assert MARK in shown
    assert core(form, secret)[:8] not in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert redactor.contains_secret({"deep": [[text]]})


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_caught_at_every_border_between_two_pieces(form: str) -> None:
    text = f"before {FORMS[form](CANARY)} after"
    redactor = Redactor([CANARY])
    for border in range(len(text) + 1):
        stream = redactor.stream()
        shown = [stream.feed(text[:border]), stream.feed(text[border:]), stream.finish()]
        assert "".join(shown) == redactor.text(text), border


def test_a_secret_that_comes_letter_by_letter_is_caught() -> None:
    redactor = Redactor([CANARY, "other-secret"])
    text = f"x{CANARY}{CANARY} and {quote(CANARY)}other-secret, other-secre"
    stream = redactor.stream()
    shown = "".join(stream.feed(letter) for letter in text) + stream.finish()
    assert shown == redactor.text(text) == f"x{MARK}{MARK} and {MARK}{MARK}, other-secre"


def test_innocent_text_is_not_held_back() -> None:
    stream = Redactor(["secret-value"]).stream()
    assert stream.feed("nothing to see here.") == "nothing to see here."
    assert stream.feed("The sec") == "The "
    assert stream.feed("ond one") == "second one"
    assert stream.finish() == ""


@pytest.mark.parametrize("levels", range(3))
def test_in_a_message_a_secret_is_found_however_deep_it_is_quoted(levels: int) -> None:
    told = CANARY
    for _ in range(levels):
        told = json.dumps(told)[1:-1]
    call: Any = {"function": {"arguments": json.dumps({"body": f"key={told}"})}}
    message = json.dumps({"role": "assistant", "tool_calls": [call]}).encode()
    shown = Redactor([CANARY]).message(message)
    assert b"sk-Canary" not in shown
    assert json.loads(json.loads(shown)["tool_calls"][0]["function"]["arguments"]) == {"body": f"key={MARK}"}


@pytest.mark.parametrize("message", [b'{"a":"b\\n"}', b"no JSON \\ at all", '{"ä":"\\\\ö"}'.encode()])
def test_a_message_without_a_secret_stays_byte_for_byte(message: bytes) -> None:
    assert Redactor([CANARY]).message(message) == message


@given(
    secrets=st.lists(st.text("ab%+", min_size=1, max_size=5), max_size=3),
    pieces=st.lists(st.text("ab%+26c", max_size=6), max_size=8),
)
@settings(max_examples=300, deadline=None)
def test_pieces_are_redacted_like_the_whole(secrets: list[str], pieces: list[str]) -> None:
    redactor = Redactor(secrets)
    stream = redactor.stream()
    shown = "".join(stream.feed(piece) for piece in pieces) + stream.finish()
    assert shown == redactor.text("".join(pieces))


@given(
    secrets=st.lists(st.text(min_size=2, max_size=12), min_size=1, max_size=3),
    around=st.lists(st.text(max_size=5), min_size=4, max_size=4),
    form=st.sampled_from(["as it is", "every byte quoted", "as JSON", "as JSON with all characters"]),
)
@settings(max_examples=200, deadline=None)
def test_no_secret_survives_whatever_it_is(secrets: list[str], around: list[str], form: str) -> None:
    text = around[0] + "".join(
        FORMS[form](secret) + part for secret, part in zip(secrets, around[1:], strict=False)
    )
    shown = Redactor(secrets).text(text)
    for secret in secrets:
        assert FORMS[form](secret) not in shown.replace(MARK, "\n\n")


# --------------------------------------------------------------------------------------------------------------- values


def test_overlapping_secrets_leave_nothing_of_either() -> None:
    assert Redactor(["abcdef", "defghi"]).text("-abcdefghi-") == f"-{MARK}-"
    assert Redactor(["abcdef", "abcdefghi"]).text("-abcdefghi-abcdef-") == f"-{MARK}-{MARK}-"
    assert Redactor(["abab"]).text("xababab") == f"x{MARK}"


def test_values_are_redacted_at_every_depth_keys_included() -> None:
    redactor = Redactor(["top-secret"])
    value: Any = {"a": ["x top-secret y", {"top-secret": "top-secret"}], "n": [1, 1.5, True, None]}
    assert redactor.redact(value) == {"a": [f"x {MARK} y", {MARK: MARK}], "n": [1, 1.5, True, None]}
    assert value["a"][0] == "x top-secret y"


def test_two_keys_that_differ_only_in_a_secret_stay_two() -> None:
    redactor = Redactor(["secret-one", "secret-two"])
    assert redactor.redact({"secret-one": 1, "secret-two": 2}) == {MARK: 1, f"{MARK} 2": 2}


def test_a_secret_of_digits_is_found_in_a_number() -> None:
    redactor = Redactor(["48151623"])
    assert redactor.contains_secret([48151623])
    assert redactor.redact({"pin": 481516231, "other": 4815}) == {"pin": MARK, "other": 4815}


@pytest.mark.parametrize("value", ["", "top-secre", "TOP-SECRET", "top secret", {"a": ["b"]}, 5, None, True])
def test_what_is_no_secret_stays(value: Any) -> None:
    redactor = Redactor(["top-secret"])
    assert redactor.redact(value) == value
    assert not redactor.contains_secret(value)


@pytest.mark.parametrize("secrets", [[], [""]])
def test_without_secrets_nothing_changes(secrets: list[str]) -> None:
    redactor = Redactor(secrets)
    assert redactor.redact({"a": "b"}) == {"a": "b"}
    assert not redactor.contains_secret("anything")
    stream = redactor.stream()
    assert stream.feed("abc") + stream.finish() == "abc"


def test_a_short_secret_is_replaced_only_as_it_is() -> None:
    redactor = Redactor(["ab"])
    assert redactor.text("ab 6162 YWI=") == f"{MARK} 6162 YWI="
