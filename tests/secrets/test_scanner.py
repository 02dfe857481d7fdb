"""The scanner finds a canary in every form, and nothing where there is none."""

import pytest

from tests.secrets.canaries import FORMS, Flock


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [0, 1])
def test_it_finds_a_canary_in_every_form(form: str, number: int) -> None:
    flock = Flock()
    text = FORMS[form](flock.canary(number).secret)
    assert flock.found_in(b"\0\xff" + text.encode() + b"\xfe")


@pytest.mark.parametrize("form", FORMS)
def test_it_finds_the_half_of_a_canary(form: str) -> None:
    flock = Flock()
    text = FORMS[form](flock.canary(0).secret)
    half = len(text) // 2
    assert flock.found_in(text[:half].encode())
    assert flock.found_in(text[half:].encode())


@pytest.mark.parametrize("form", FORMS)
def test_it_finds_nothing_of_another_flock(form: str) -> None:
    assert Flock().found_in(FORMS[form](Flock().canary(1).secret).encode()) == []
