"""Who may see which page: everybody signed in, nobody else; another tenant's things are not there."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import pytest
from django.urls import reverse

from lifecycle_core.application import queries
from tests.console.api.conftest import ASK, WRITE, World
from tests.console.views.conftest import People

pytestmark = pytest.mark.django_db

LISTS: Final = (
    "inbox",
    "inbox-badge",
    "start",
    "invocations",
    "deliveries",
    "tombstones",
    "agents",
    "tools",
    "leases",
    "affinities",
    "keys",
)
THINGS: Final = (
    ("approval", "approval"),
    ("approval-edit", "approval"),
    ("approval-outcome", "approval"),
    ("input", "input"),
    ("invocation", "invocation"),
    ("transcript", "invocation"),
    ("dispatch", "invocation"),
    ("journal", "invocation"),
    ("journal-verify", "invocation"),
    ("journal-export", "invocation"),
    ("invocation-cancel", "invocation"),
    ("retry", "invocation"),
    ("affinity", "affinity"),
    ("delivery", "delivery"),
    ("delivery-cancel", "delivery"),
    ("delivery-retire", "delivery"),
)
POSTS: Final = (
    ("approval-decide", "approval"),
    ("input-answer", "input"),
    ("input-decline", "input"),
    ("input-finish", "input"),
)


@pytest.fixture
def things(world: World) -> Mapping[str, str]:
    approval, asked = world.approval(), world.input()
    delivery = queries.invocation(world.host, UUID(approval.invocation)).delivery_id
    return {
        "approval": approval.id,
        "input": asked.id,
        "invocation": approval.invocation,
        "delivery": delivery,
        "affinity": queries.affinity_of(world.host, UUID(approval.invocation)).id,
    }


def content(response: Any) -> bytes:
    return b"".join(response) if response.streaming else response.content


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_for_members_only(people: People, name: str) -> None:
    place = reverse(f"pages:{name}")
    assert people("owner").get(place).status_code == 200
    nobody = people("").get(place)
    assert (nobody.status_code, nobody["Location"].split("?")[0]) == (302, "/accounts/login/")


@pytest.mark.parametrize(("name", "thing"), THINGS)
def test_a_thing_is_shown_to_its_tenant_and_is_not_there_for_another(
    people: People, things: Mapping[str, str], name: str, thing: str
) -> None:
    place = reverse(f"pages:{name}", args=[things[thing]])
    answer = people("owner").get(place)
    assert answer.status_code == 200
    assert content(answer)
    assert people("owner@elsewhere").get(place).status_code == 404
    assert people("").get(place).status_code == 302


@pytest.mark.parametrize(("name", "thing"), POSTS)
def test_what_changes_something_takes_a_post_of_the_tenant_only(
    people: People, things: Mapping[str, str], name: str, thing: str
) -> None:
    place = reverse(f"pages:{name}", args=[things[thing]])
    body = {"decision": "approve"}
    assert people("owner").get(place).status_code == 405
    assert people("owner@elsewhere").post(place, body).status_code == 404
    assert people("").post(place, body).status_code == 302
    assert people("viewer").post(place, body).status_code == 403


@pytest.mark.parametrize(("name", "thing"), THINGS)
def test_no_page_answers_a_method_that_it_does_not_know(
    people: People, things: Mapping[str, str], name: str, thing: str
) -> None:
    answer = people("owner").delete(reverse(f"pages:{name}", args=[things[thing]]))
    assert answer.status_code == 405
    assert "GET" in answer["Allow"]
    assert "METHOD_NOT_ALLOWED" in answer.content.decode()


def test_looking_at_every_page_changes_nothing(
    people: People, things: Mapping[str, str], world: World
) -> None:
    before = queries.events(world.host, UUID(things["invocation"])).items
    for name, thing in THINGS:
        content(people("owner").get(reverse(f"pages:{name}", args=[things[thing]])))
        people("owner").head(reverse(f"pages:{name}", args=[things[thing]]))
    assert queries.events(world.host, UUID(things["invocation"])).items == before


def test_a_host_sees_what_it_started_and_nothing_else(people: People, world: World) -> None:
    own = world.approval()
    assert people("host").get(reverse("pages:approval", args=[own.id])).status_code == 404
    assert people("viewer").get(reverse("pages:approval", args=[own.id])).status_code == 200


@pytest.mark.parametrize(
    ("who", "button"),
    [("operator", True), ("owner", True), ("viewer", False), ("auditor", False), ("admin", False)],
)
def test_only_who_may_decide_is_shown_the_buttons(
    people: People, world: World, who: str, button: bool
) -> None:
    page = people(who).get(reverse("pages:approval", args=[world.approval().id]))
    assert (b"data-approve" in page.content) is button


@pytest.mark.parametrize("call", [WRITE, ASK])
def test_the_count_in_the_frame_equals_the_list(people: People, world: World, call: Any) -> None:
    for _ in range(3):
        world.start(call)
    page = people("operator").get(reverse("pages:inbox"))
    assert page.context["waiting"] == len(page.context["rows"]) == 3
    assert dict(page.context["groups"])["mine"] == 3
