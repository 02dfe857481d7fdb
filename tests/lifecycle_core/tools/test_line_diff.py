"""Differences are true, readable and made in bounded time."""

import random
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle_core.tools import line_diff


def applied(old: str, diff: str) -> str:
    """Apply a unified diff that starts from all lines of a text."""
    lines = old.split("\n")
    before = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    result: list[str] = []
    at = 0
    body = diff.removesuffix("\n").split("\n")[2:]
    for number, line in enumerate(body):
        if line.startswith("@@"):
            start, _, count = line.split()[1].removeprefix("-").partition(",")
            begin = int(start) - (count != "0")
            result += before[at:begin]
            at = begin
            continue
        ending = "" if number + 1 < len(body) and body[number + 1].startswith("\\") else "\n"
        if line.startswith((" ", "-")):
            assert before[at] == line[1:] + ending
            at += 1
        if line.startswith((" ", "+")):
            result.append(line[1:] + ending)
    return "".join(result + before[at:])


lines = st.lists(st.sampled_from(["a", "b", "c", "", "-", "+ ", "\\", "@@ x"]), max_size=30).map("\n".join)


@given(old=lines, new=lines)
@settings(max_examples=300)
def test_a_difference_leads_from_the_old_text_to_the_new(old: str, new: str) -> None:
    diff = line_diff.unified("f", old, new)
    assert (applied(old, diff.text) if diff.text else old) == new
    body = diff.text.split("\n")[2:]
    assert diff.added == sum(line.startswith("+") for line in body)
    assert diff.removed == sum(line.startswith("-") for line in body)


@given(old=lines, new=lines)
@settings(max_examples=25)
def test_patch_understands_it(old: str, new: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = tmp_path_factory.mktemp("patch")
    (folder / "f").write_text(old)
    diff = line_diff.unified("f", old, new)
    if diff.text:
        subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"], input=diff.text, cwd=folder, text=True, check=True
        )
    assert ((folder / "f").read_text() if (folder / "f").exists() else "") == new


def test_only_what_changed_is_shown() -> None:
    old = "".join(f"{number}\n" for number in range(1000))
    diff = line_diff.unified("f", old, old.replace("\n500\n", "\nfive hundred\n"))
    assert diff.text.count("\n") == 2 + 1 + 3 + 2 + 3
    assert (diff.added, diff.removed) == (1, 1)


def test_a_carriage_return_is_content() -> None:
    diff = line_diff.unified("f", "a\rb\n", "a\r\nb\n")
    assert "-a\rb\n+a\r\n+b\n" in diff.text


@pytest.mark.parametrize("alphabet", [2, 3, 50, 100_000])
def test_very_different_texts_do_not_take_long(alphabet: int) -> None:
    rng = random.Random(alphabet)
    old, new = ("\n".join(str(rng.randrange(alphabet)) for _ in range(60_000)) for _ in range(2))
    began = time.process_time()
    diff = line_diff.unified("f", old, new)
    assert time.process_time() - began < 5
    assert applied(old, diff.text) == new


MANY = 1 << 20
EDGED: dict[str, tuple[str | None, str]] = {
    "a new file of blank lines": (None, "\n" * MANY),
    "every line becomes another": ("\n" * MANY, "x\n" * MANY),
    "the first and the last line": ("a\n" + "\n" * MANY + "b\n", "c\n" + "\n" * MANY + "d\n"),
    "one line": ("a" * 5 * MANY, "b" * 5 * MANY),
    "a long line among short ones": ("a\n" * 300, "b\n" + "b" * 5 * MANY + "\nb\n"),
}


@pytest.mark.parametrize("name", EDGED)
def test_a_change_too_large_to_read_is_shown_by_its_edges_and_says_how_much_is_not(name: str) -> None:
    old, new = EDGED[name]
    took = []
    for _ in range(3):
        began = time.process_time()
        diff = line_diff.unified("f", old, new)
        took.append(time.process_time() - began)
    assert min(took) < 0.2
    assert len(diff.text) < 5 * line_diff.EDGE_CHARACTERS
    body = diff.text.split("\n")[3:]
    assert diff.added == sum(line.startswith("+") for line in body) + diff.unshown_added
    assert diff.removed == sum(line.startswith("-") for line in body) + diff.unshown_removed
    assert f"\\ {diff.unshown_added} added lines are not shown\n" in diff.text
    assert ("removed lines are not shown" in diff.text) == (diff.unshown_removed > 0)


def test_a_small_change_of_a_very_large_text_is_shown_as_a_whole_and_soon() -> None:
    old = "".join(f"{number}\n" for number in range(MANY))
    new = old.replace("\n500000\n", "\nhalf a million\n")
    began = time.process_time()
    diff = line_diff.unified("f", old, new)
    assert time.process_time() - began < 0.2
    assert "@@ -499998,7 +499998,7 @@\n 499997\n" in diff.text
    assert (diff.added, diff.removed, diff.unshown_added, diff.unshown_removed) == (1, 1, 0, 0)
