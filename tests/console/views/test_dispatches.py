"""The page of a dispatch: composed here or brought by a host, nothing differs; what was changed in the database does."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.urls import reverse

from lifecycle_core.journal.models import DispatchRow
from tests.console.api.conftest import Api, World
from tests.console.api.test_dispatches import bound, composed
from tests.console.views.conftest import People

pytestmark = pytest.mark.django_db


def page(people: People, invocation: str, who: str = "viewer") -> str:
    answer = people(who).get(reverse("pages:dispatch", args=[invocation]))
    assert answer.status_code == 200
    html: str = answer.content.decode()
    return html


def marks(html: str) -> tuple[int, int]:
    """Return how many derived values agree and how many do not."""
    return html.count('data-derived="agrees"'), html.count('data-derived="differs"')


def test_everything_in_it_is_shown_and_agrees(people: People, world: World) -> None:
    html = page(people, world.start())
    assert marks(html) == (12, 0)
    assert "12 derived values were computed again just now, and all agree." in html
    for said in ("Verified.", "agent.writer", "model.scripted", "driver.chat-completions", "policy.writer"):
        assert said in html
    assert html.count("data-copy=") > 30


def test_a_dispatch_that_a_host_brings_is_shown_with_what_it_chose_itself(
    people: People, api: Api, world: World
) -> None:
    dispatch = composed(api)
    started = api.post("invocations", {"dispatch": bound(dispatch)}, "host")
    assert started.status_code == 202
    assert marks(page(people, started.json()["id"])) == (12, 0)


@pytest.mark.parametrize(
    ("path", "value", "differ"),
    [
        (("executor", "turn", "access", 1, "path"), "**", 3),
        (("workspace", "handle", "savepoint"), "elsewhere", 2),
        (("workspace", "handle", "capability", "signature"), "AAAA", 2),
        (("action", "purpose"), "Delete everything.", 2),
    ],
)
def test_what_was_changed_in_the_database_is_marked(
    people: People, world: World, path: tuple[Any, ...], value: str, differ: int
) -> None:
    invocation = world.start()
    row = DispatchRow.objects.get(pk=UUID(invocation))
    dispatch = json.loads(row.body)
    place = dispatch
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    DispatchRow.objects.filter(pk=row.pk).update(body=json.dumps(dispatch))
    html = page(people, invocation)
    assert marks(html)[1] == differ
    assert "They are marked below." in html
