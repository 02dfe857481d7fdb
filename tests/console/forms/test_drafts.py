"""Schemas as forms: whatever fits a form comes back from it unchanged, and what does not fit is written as JSON."""

from typing import Any, Final

import pytest
from django.http import HttpRequest, QueryDict
from hypothesis import given
from hypothesis import strategies as st

from console.forms import drafts, editor, fields, schema
from console.forms.drafts import MISSING
from lifecycle_core.contract.digests import Json

ADDRESS: Final[Json] = {
    "type": "object",
    "required": ["street"],
    "properties": {"street": {"type": "string"}, "floor": {"type": "integer"}},
}
EVERYTHING: Final[Json] = {
    "type": "object",
    "required": ["name", "count", "price", "sure", "day", "at", "colour", "tags", "home"],
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "letter": {"type": "string"},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "sure": {"type": "boolean"},
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "colour": {"enum": ["red", 2, True, None]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "kinds": {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b", "c"]}},
        "home": ADDRESS,
        "others": {"type": "array", "items": ADDRESS},
        "rest": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "od/d~key": {"type": "string"},
    },
}
WORDS: Final = st.text(
    st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="\xa0"), max_size=30
).map(str.strip)
HOMES: Final = st.fixed_dictionaries({"street": WORDS}, optional={"floor": st.integers(-99, 99)})
VALUES: Final = st.fixed_dictionaries(
    {
        "name": WORDS,
        "count": st.integers(-(2**53) + 1, 2**53 - 1),
        "price": st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-999, 999),
        "sure": st.booleans(),
        "day": st.dates().map(str),
        "at": st.datetimes().map(lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")),
        "colour": st.sampled_from(["red", 2, True, None]),
        "tags": st.lists(WORDS, max_size=3),
        "home": HOMES,
    },
    optional={
        "letter": st.lists(WORDS, min_size=1, max_size=4).map("\n".join),
        "kinds": st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(sorted),
        "others": st.lists(HOMES, max_size=2),
        "rest": WORDS | st.dictionaries(WORDS, st.integers(0, 9), max_size=2),
        "od/d~key": WORDS,
    },
)


def posted(field: fields.Field, sent: QueryDict | None = None) -> QueryDict:
    """Send a form as a browser does: line ends as CR LF, only chosen boxes, every text field."""
    sent = QueryDict(mutable=True) if sent is None else sent
    if field.given:
        sent.appendlist("given", f"{field.name}?")
    if field.kind == "array":
        sent[f"{field.name}#rows"] = str(len(field.members))
    for member in field.members:
        posted(member, sent)
    if field.kind in ("choice", "choices"):
        for option in field.options:
            if option.chosen:
                sent.appendlist(field.name, option.token)
    elif field.kind not in ("object", "array"):
        sent.appendlist(field.name, field.text.replace("\n", "\r\n"))
    return sent


def returned(of: Json, value: Json) -> tuple[Any, list[Any]]:
    """Return what a form gives back that was filled with a value and sent as it is."""
    drawn = fields.of(of, drafts.of_value(of, value), [], required=True)
    return drafts.value(of, drafts.of_post(of, posted(drawn)), needed=True)


@given(value=VALUES)
def test_what_fits_comes_back_unchanged(value: Any) -> None:
    assert schema.fits(EVERYTHING, value)
    assert returned(EVERYTHING, value) == (value, [])


@pytest.mark.parametrize(
    "value",
    [
        {"street": 7},
        {"street": "a", "floor": "1"},
        {"street": "a", "floor": True},
        {"street": "a", "unknown": 1},
        {"street": "with\u202ehidden"},
        {"street": "line\rends"},
        {"street": None},
        [],
        None,
    ],
)
def test_what_a_form_would_change_does_not_fit(value: Json) -> None:
    assert not schema.fits(ADDRESS, value)


@pytest.mark.parametrize(
    ("of", "kind"),
    [
        ({"type": "string"}, "lines"),
        ({"type": "string", "maxLength": 20}, "text"),
        ({"type": "string", "pattern": "^a"}, "text"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "integer"}, "integer"),
        ({"type": ["string", "null"]}, "json"),
        ({"type": "array"}, "json"),
        ({"type": "object"}, "json"),
        ({"oneOf": [{"type": "string"}]}, "json"),
        ({"enum": []}, "json"),
        ({"enum": [[1]]}, "json"),
        ({}, "json"),
        (True, "json"),
        (None, "json"),
    ],
)
def test_each_schema_has_its_control(of: Json, kind: str) -> None:
    assert schema.kind(of) == kind


@pytest.mark.parametrize(
    ("of", "text", "value"),
    [
        ({"type": "integer"}, "7", 7),
        ({"type": "integer"}, " -7 ", -7),
        ({"type": "integer"}, "7.0", None),
        ({"type": "integer"}, "1e3", None),
        ({"type": "integer"}, "9007199254740993", None),
        ({"type": "integer"}, "٧", None),
        ({"type": "number"}, "1e400", None),
        ({"type": "number"}, "NaN", None),
        ({"type": "number"}, "true", None),
        ({"type": "number"}, "1.50", 1.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "1", None),
        ({"type": "boolean"}, "on", None),
        ({"enum": [1, True]}, "1", 1),
        ({"enum": [1, True]}, "true", True),
        ({"enum": [1]}, "true", None),
    ],
)
def test_text_is_read_strictly(of: Json, text: str, value: Json) -> None:
    found, problems = drafts.value(of, drafts.Draft(text=text), needed=True)
    assert (None if problems else found) == value
    assert type(found) is type(value) or problems


def test_nothing_is_chosen_for_anybody() -> None:
    found, problems = drafts.value({"type": "boolean"}, drafts.Draft(), needed=True)
    assert found is MISSING
    assert [problem.pointer for problem in problems] == [""]


def test_an_optional_member_that_is_empty_is_left_out() -> None:
    sent = QueryDict("f/street=a&f/floor=")
    assert drafts.value(ADDRESS, drafts.of_post(ADDRESS, sent), needed=True) == ({"street": "a"}, [])


def test_an_empty_text_that_was_there_stays() -> None:
    value: Json = {"street": "", "floor": 0}
    assert returned(ADDRESS, value) == (value, [])
    of: Json = {"type": "object", "properties": {"note": {"type": "string"}}}
    assert returned(of, {"note": ""}) == ({"note": ""}, [])
    assert returned(of, {}) == ({}, [])


def test_an_optional_group_asks_for_nothing_until_it_is_begun() -> None:
    of: Json = {"type": "object", "properties": {"home": ADDRESS}}
    assert drafts.value(of, drafts.of_post(of, QueryDict("f/home/street=")), needed=True) == ({}, [])
    begun = drafts.of_post(of, QueryDict("f/home/street=&f/home/floor=2"))
    assert drafts.value(of, begun, needed=True)[0] == {"home": {"street": "", "floor": 2}}


@pytest.mark.parametrize(
    ("command", "tags"),
    [
        ("add /tags", ["a", "b", ""]),
        ("remove /tags/0", ["b"]),
        ("remove /tags/9", ["a", "b"]),
        ("remove /tags/x", ["a", "b"]),
        ("remove /", ["a", "b"]),
        ("add /nothing/here", ["a", "b"]),
        ("paint /tags", ["a", "b"]),
        ("add", ["a", "b"]),
    ],
)
def test_rows_are_added_and_removed_by_their_place(command: str, tags: list[str]) -> None:
    of: Json = {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}}
    draft = drafts.of_value(of, {"tags": ["a", "b"]})
    drafts.adjust(draft, command)
    assert [row.text for row in draft.members["tags"].rows] == tags


@pytest.mark.parametrize("rows", ["-1", "x", "1e9", "99999999999", "²"])
def test_a_forged_number_of_rows_costs_nothing(rows: str) -> None:
    of: Json = {"type": "array", "items": {"type": "string"}}
    draft = drafts.of_post(of, QueryDict(f"f%23rows={rows}"))
    assert len(draft.rows) <= drafts.MOST_ROWS


def test_a_problem_stands_beside_the_nearest_field() -> None:
    from lifecycle_core.contract.errors import Problem

    draft = drafts.of_value(EVERYTHING, MISSING)
    problems = [Problem("/home/street", "a"), Problem("/home/nowhere", "b"), Problem("/nowhere", "c")]
    root = fields.of(EVERYTHING, draft, problems, required=True)
    home = next(member for member in root.members if member.pointer == "/home")
    assert home.problems == ["b"]
    assert [member.problems for member in home.members] == [["a"], []]
    assert root.problems == ["c"]


def test_json_is_all_that_an_open_schema_gets() -> None:
    assert editor.no_fields({"type": "object"}, MISSING)
    assert not editor.no_fields(ADDRESS, {"street": "a"})


@pytest.mark.parametrize("row", ["²", "9" * 5000, "-1", "", "1_0", "٣"])
def test_a_command_that_names_no_row_changes_nothing(row: str) -> None:
    form: Json = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    draft = drafts.of_value(form, [["a"], ["b"]])
    drafts.adjust(draft, f"remove /{row}")
    drafts.adjust(draft, f"add /{row}")
    assert drafts.value(form, draft, needed=True) == ([["a"], ["b"]], [])


def test_choices_beyond_what_a_page_can_hold_are_no_list() -> None:
    options: Json = [f"v{number}" for number in range(schema.MOST_OPTIONS + 1)]
    assert schema.kind({"enum": options}) == "json"
    assert schema.kind({"type": "string", "enum": options}) == "lines"


ORDER: Final[Json] = {
    "type": "object",
    "required": ["name", "count", "sizes"],
    "properties": {
        "name": {"type": "string", "maxLength": 3},
        "count": {"type": "integer", "minimum": 1},
        "sizes": {"type": "array", "items": {"type": "integer", "maximum": 9}},
    },
}


@pytest.mark.parametrize(
    ("typed", "marked"),
    [
        ({"f/name": "much too long", "f/count": ""}, {"/name", "/count"}),
        ({"f/name": "a", "f/count": ""}, {"/count"}),
        ({"f/name": "too long", "f/count": "x", "f/sizes/0": "12"}, {"/name", "/count", "/sizes/0"}),
        # A row that is empty moves those behind it: nothing is said of them until it is filled in.
        ({"f/name": "too long", "f/count": "1", "f/sizes/0": "", "f/sizes/1": "12"}, {"/name", "/sizes/0"}),
    ],
)
def test_everything_that_is_wrong_is_said_at_once(typed: dict[str, str], marked: set[str]) -> None:
    posted = QueryDict(mutable=True)
    rows = sum(name.startswith("f/sizes/") for name in typed)
    posted.update({"mode": "fields", "f/sizes#rows": str(rows), **typed})
    request = HttpRequest()
    request.method = "POST"
    request.POST = posted  # type: ignore[assignment]
    found = editor.of(request, ORDER).problems
    assert {problem.pointer for problem in found} == marked
    assert len(found) == len(marked)
