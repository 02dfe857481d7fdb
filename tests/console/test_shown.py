"""What an agent wrote, as pages show it: all of it, and nothing that hides."""

import json

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from console import shown
from lifecycle_core.contract.digests import Json

JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def leaves(node: shown.Node) -> int:
    return sum(leaves(member) for member in node.members) if node.members else 1


def count(value: Json) -> int:
    match value:
        case dict() if value:
            return sum(count(item) for item in value.values())
        case list() if value:
            return sum(count(item) for item in value)
    return 1


@given(value=JSON)
def test_every_member_of_a_value_is_shown(value: Json) -> None:
    assert leaves(shown.tree(value)) == count(value)


@given(value=JSON)
def test_the_editors_text_is_the_value_and_hides_nothing(value: Json) -> None:
    written = shown.pretty(value)
    assert json.loads(written) == value
    assert shown.is_plain(written)


def test_a_diff_keeps_its_signs_apart_from_the_text() -> None:
    unified = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- gone\n+++ new\n"
    assert [(line.sign, line.shown.text) for line in shown.diff(unified)] == [
        ("@", "--- a/x"),
        ("@", "+++ b/x"),
        ("@", "@@ -1,2 +1,2 @@"),
        (" ", "same"),
        ("-", "-- gone"),
        ("+", "++ new"),
    ]


@pytest.mark.parametrize("tag", ["{% text it %}", "{% block_text it %}", "{% value it %}", "{% gist it %}"])
def test_no_tag_lets_markup_through(tag: str) -> None:
    html = Template("{% load shown %}" + tag).render(Context({"it": "<b>'\"&\u202e</b>"}))
    assert "<b>" not in html
    assert "\u202e" not in html
    assert "U+202E" in html
    assert "hx-ignore" in html


def test_a_long_text_is_folded_and_still_whole() -> None:
    text = "\n".join(str(number) for number in range(100))
    html = Template("{% load shown %}{% block_text it %}").render(Context({"it": text}))
    assert "data-unfold" in html
    assert all(f"{number}" in html for number in range(100))


def test_a_first_empty_line_is_not_swallowed_by_the_page() -> None:
    html = Template("{% load shown %}{% block_text it %}").render(Context({"it": "\nsecond"}))
    assert ">\n\nsecond" in html


def test_every_kind_of_fact_has_its_words() -> None:
    from console import event_words
    from lifecycle_core.contract import events

    assert event_words.EVENT.keys() >= events.BY_KIND.keys()
