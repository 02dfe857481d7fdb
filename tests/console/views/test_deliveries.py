"""Deliveries and what is left of them."""

import uuid

import pytest
from django.urls import reverse

from lifecycle_core.application import queries
from tests.console.api.conftest import WRITE, World
from tests.console.views.conftest import People, form

pytestmark = pytest.mark.django_db


def delivery_of(world: World, invocation: str) -> str:
    return queries.invocation(world.host, uuid.UUID(invocation)).delivery_id


def test_cancel_takes_a_reason_of_the_contract(people: People, world: World) -> None:
    invocation, coordinator = world.start(WRITE, delivery="d-1"), people("coordinator")
    place = reverse("pages:delivery-cancel", args=[delivery_of(world, invocation)])
    shown = form(coordinator.get(place), "comment")
    assert shown.send(coordinator, reason="BECAUSE").status_code == 400
    assert shown.send(coordinator, reason="TIMEOUT").status_code == 302
    assert queries.invocation(world.host, uuid.UUID(invocation)).status == "cancelled"


def test_an_operator_may_not_cancel_a_whole_delivery(people: People, world: World) -> None:
    invocation, operator = world.start(WRITE), people("operator")
    place = reverse("pages:delivery-cancel", args=[delivery_of(world, invocation)])
    assert operator.post(place, {"reason": "TIMEOUT"}).status_code == 403


class TestRetire:
    def test_it_says_what_goes_and_what_stays(self, people: People, world: World) -> None:
        delivery = delivery_of(world, world.start(delivery="d-1"))
        page = people("coordinator").get(reverse("pages:delivery-retire", args=[delivery])).content.decode()
        assert "1 invocation with its journal" in page
        assert "a tombstone: the identity and its bindings" in page

    def test_the_identity_must_be_typed(self, people: People, world: World) -> None:
        delivery, coordinator = delivery_of(world, world.start(delivery="d-1")), people("coordinator")
        shown = form(coordinator.get(reverse("pages:delivery-retire", args=[delivery])), "typed")
        for typed in ("", "d-2", "D-1", " d-1"):
            assert shown.send(coordinator, authorization="ticket-1", typed=typed).status_code == 422
        assert queries.delivery(world.host, uuid.UUID(delivery)).identity == "d-1"

    def test_the_tombstone_remains_and_is_found_again(self, people: People, world: World) -> None:
        delivery, coordinator = delivery_of(world, world.start(delivery="d-1")), people("coordinator")
        shown = form(coordinator.get(reverse("pages:delivery-retire", args=[delivery])), "typed")
        answer = shown.send(coordinator, authorization="ticket-1", typed="d-1")
        assert answer.status_code == 302
        assert "ticket-1" in coordinator.get(answer["Location"]).content.decode()
        assert "d-1" in coordinator.get(reverse("pages:tombstones")).content.decode()
        found = coordinator.get(reverse("pages:tombstones"), {"text": "no such"}).context["page"]
        assert found.items == []
        tombstone = uuid.UUID(answer["Location"].strip("/").split("/")[-1])
        checked = people("auditor").get(reverse("pages:tombstone-verify", args=[tombstone]))
        assert "The chain is intact." in checked.content.decode()

    def test_what_still_runs_is_refused(self, people: People, world: World) -> None:
        approval, coordinator = world.approval(), people("coordinator")
        delivery = delivery_of(world, approval.invocation)
        identity = queries.delivery(world.host, uuid.UUID(delivery)).identity
        assert coordinator.get(reverse("pages:delivery", args=[delivery])).status_code == 200
        shown = form(coordinator.get(reverse("pages:delivery-retire", args=[delivery])), "typed")
        wrong = shown.send(
            coordinator, authorization="t", typed=identity, manifest_binding="sha256:" + "0" * 64
        )
        assert wrong.status_code == 403


class TestList:
    def test_a_delivery_that_is_partly_over_says_both(self, people: People, world: World) -> None:
        world.start(delivery="d-1")
        page = people("viewer").get(reverse("pages:deliveries")).content.decode()
        assert "Ended" in page
        world.start(WRITE, delivery="d-1")
        page = people("viewer").get(reverse("pages:deliveries")).content.decode()
        assert "Partly ended" in page
        for word in ("Completed", "Waiting for people"):
            assert word in page

    @pytest.mark.parametrize("name", ["deliveries", "tombstones"])
    def test_the_rows_alone_are_what_stands_in_the_page(
        self, people: People, world: World, name: str
    ) -> None:
        world.start(delivery="d-1")
        headers = {"HX-Request": "true", "HX-Target": "div#rows"}
        part = people("viewer").get(reverse(f"pages:{name}"), headers=headers).content.decode()
        assert part.lstrip().startswith('<div id="rows"')
        assert "</html>" not in part


def test_everything_that_is_missing_before_a_retirement_is_said_at_once(people: People, world: World) -> None:
    invocation = world.start(delivery="d-1")
    delivery = queries.invocation(world.host, uuid.UUID(invocation)).delivery_id
    place = reverse("pages:delivery-retire", args=[delivery])
    page = people("coordinator").post(place, {"typed": "d-2", "authorization": " ", "key": "k"})
    assert page.status_code == 422
    assert page.content.decode().count('class="problem"') == 2
