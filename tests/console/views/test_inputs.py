"""The input card: an answer that fits goes to the agent; one that does not changes nothing."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from lifecycle_core.application import queries
from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.answers import Call
from tests.console.api.conftest import World
from tests.console.views.conftest import People, form

pytestmark = pytest.mark.django_db

SCHEMA: Json = {
    "type": "object",
    "required": ["region", "count", "keep"],
    "additionalProperties": False,
    "properties": {
        "region": {"enum": ["eu", "us"], "title": "Region"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "keep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "owner": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
    },
}
FITS = {"f/region": '"eu"', "f/count": "3", "f/keep": "true"}


def ask(world: World, schema: Json = SCHEMA, prompt: str = "Where?", identity: str = "where") -> Any:
    call = Call(
        tool="workflow_request_input",
        arguments={"requestIdentity": identity, "prompt": prompt, "responseSchema": schema},
    )
    world.start(call)
    return queries.inputs(world.host, state="pending").items[0]


def card(browser: Client, asked: Any) -> Any:
    return browser.get(reverse("pages:input", args=[asked.id]))


def now(world: World, asked: Any) -> Any:
    return queries.input(world.host, uuid.UUID(asked.id))


def test_an_answer_that_fits_is_given(people: People, world: World) -> None:
    asked, operator = ask(world), people("operator")
    answer = form(card(operator, asked), 'name="mode"').send(operator, **FITS)
    assert answer.status_code == 303
    assert now(world, asked).answer == {"region": "eu", "count": 3, "keep": True}


def test_a_question_whose_identity_no_form_gives_back_unchanged_is_answered(
    people: People, world: World
) -> None:
    asked, operator = ask(world, identity="one\ntwo\r"), people("operator")
    assert form(card(operator, asked), 'name="mode"').send(operator, **FITS).status_code == 303


def test_an_answer_that_could_not_be_told_to_the_agent_leaves_the_question_open(
    people: People, world: World, settings: Any
) -> None:
    asked, operator = ask(world, {"type": "string"}), people("operator")
    text = '"' * (settings.LIFECYCLE_VALUE_BYTES // 4)
    answer = form(card(operator, asked), 'name="mode"').send(operator, f=text)
    assert answer.status_code == 413
    assert "larger than the limit" in answer.content.decode()
    assert now(world, asked).state == "pending"


def test_a_question_with_more_parts_than_a_browser_may_send_is_answered_as_json(
    people: People, world: World
) -> None:
    many: Json = {"type": "object", "properties": {f"p{n}": {"type": "boolean"} for n in range(600)}}
    asked, operator = ask(world, many), people("operator")
    answer = form(card(operator, asked), 'name="mode"').send(operator, json='{"p1": true}')
    assert answer.status_code == 303
    assert now(world, asked).answer == {"p1": True}


@pytest.mark.parametrize(
    ("wrong", "beside"),
    [
        ({"f/count": "10"}, "f/count"),
        ({"f/count": "three"}, "f/count"),
        ({"f/count": ""}, "f/count"),
        ({"f/keep": "perhaps"}, "f/keep"),
        ({"f/region": '"mars"'}, "f/region"),
    ],
)
def test_a_wrong_one_is_marked_beside_its_field_and_the_question_stays(
    people: People, world: World, wrong: dict[str, str], beside: str
) -> None:
    asked, operator = ask(world), people("operator")
    answer = form(card(operator, asked), 'name="mode"').send(operator, **{**FITS, **wrong})
    assert answer.status_code == 422
    marked = [field.name for field in answer.context["form"].root.members if field.problems]
    assert marked == [beside]
    assert now(world, asked).state == "pending"


def test_what_was_typed_is_still_there(people: People, world: World) -> None:
    asked, operator = ask(world), people("operator")
    answer = form(card(operator, asked), 'name="mode"').send(operator, **{**FITS, "f/count": "three"})
    assert 'value="three"' in answer.content.decode()


def test_a_row_is_added_without_answering(people: People, world: World) -> None:
    asked, operator = ask(world), people("operator")
    shown = form(card(operator, asked), 'name="mode"')
    page = shown.send(operator, **FITS, adjust="add /tags")
    assert page.status_code == 200
    assert 'name="f/tags/0"' in page.content.decode()
    again = form(page, 'name="mode"')
    again.send(operator, **FITS, **{"f/tags/0": "blue"})
    assert now(world, asked).answer["tags"] == ["blue"]


def test_a_schema_that_leaves_everything_open_is_answered_in_json(people: People, world: World) -> None:
    asked, operator = ask(world, {"type": "object"}), people("operator")
    form(card(operator, asked), 'name="mode"').send(operator, json='{"any": [1, "thing"]}')
    assert now(world, asked).answer == {"any": [1, "thing"]}


def test_declining_tells_why(people: People, world: World) -> None:
    asked, operator = ask(world), people("operator")
    form(card(operator, asked), "decline").send(operator, reason="Nobody knows.")
    assert now(world, asked).state == "declined"


def test_who_comes_late_sees_the_fact(people: People, world: World) -> None:
    asked = ask(world)
    first, second = people("operator"), people("owner")
    late = form(card(second, asked), 'name="mode"')
    form(card(first, asked), 'name="mode"').send(first, **FITS)
    answer = late.send(second, **FITS)
    assert answer.status_code == 409
    assert "user:operator answered" in answer.content.decode()


def test_the_prompt_is_a_quotation_and_its_tricks_are_shown(people: People, world: World) -> None:
    asked = ask(world, prompt="<b>Approve</b>\u202e **now**")
    page = card(people("operator"), asked).content.decode()
    assert "&lt;b&gt;Approve&lt;/b&gt;" in page
    assert "U+202E" in page
    assert '<blockquote class="quote">' in page
