"""Who may not do something is offered nothing, and is refused when he asks all the same."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lifecycle_core.testing.scenarios import steps
from tests.e2e import puppet as puppets
from tests.e2e.addresses import COLOUR
from tests.e2e.people import People
from tests.e2e.puppet import Puppet, manage
from tests.e2e.rest import Item, Rest
from tests.harness.demo import Demo

SECRET = "correct-horse-battery"


def token_of(page: Page) -> str:
    """Return the token that the forms of a page carry."""
    return page.locator("input[name=csrfmiddlewaretoken]").first.input_value()


def test_a_viewer_is_offered_nothing_and_refused_everything(
    people: People, rest: Rest, puppet: Puppet
) -> None:
    writing = puppet.play(rest, "for-viewers", puppets.writes("for-viewers", 1))
    asking = puppet.play(rest, "for-viewers", puppets.say("I ask.", steps.ask("colour", "Which?", COLOUR)))
    approval, asked = rest.until_asked(writing)[0], rest.until_questioned(asking)
    delivery = rest.invocation(writing)["delivery_id"]
    page = people.open("viewer")
    for place in (
        f"/approvals/{approval['id']}/",
        f"/inputs/{asked['id']}/",
        f"/invocations/{writing}/",
        f"/deliveries/{delivery}/",
    ):
        page.goto(place)
        expect(page.locator("main")).to_be_visible()
        expect(
            page.locator("main form[method=post], main button[type=submit]:not(.filters *)")
        ).to_have_count(0)
        expect(page.locator("a[href*=edit], a[href*=cancel], a[href*=retire], a[href*=start]")).to_have_count(
            0
        )

    token = token_of(page)
    digest = approval["request_digest"]
    attempts: list[tuple[str, dict[str, Any]]] = [
        (f"/approvals/{approval['id']}/decide/", {"decision": "approve", "request_digest": digest}),
        (f"/approvals/{approval['id']}/edit/", {"mode": "json", "json": "{}", "request_digest": digest}),
        (f"/inputs/{asked['id']}/answer/", {"mode": "json", "json": '{"colour": "red"}'}),
        (f"/inputs/{asked['id']}/finish/", {}),
        (f"/inputs/{asked['id']}/decline/", {}),
        (f"/invocations/{writing}/cancel/", {}),
        (f"/deliveries/{delivery}/cancel/", {"reason": "COORDINATOR_STOP"}),
        (f"/deliveries/{delivery}/retire/", {"authorization": "for-viewers"}),
        (f"/invocations/{writing}/retry/", {}),
        ("/start/puppet/play/", {"mode": "json", "json": '{"turns": "[]"}'}),
    ]
    for place in (place for place, _ in attempts if not place.startswith("/inputs/")):
        assert (place, page.request.get(place).status) in ((place, 403), (place, 405))
    for place, form in (*attempts, (f"/invocations/{writing}/resolve/", {"outcome": "failed"})):
        answer = page.request.post(place, form={"csrfmiddlewaretoken": token, **form})
        assert (place, answer.status) == (place, 403)
    assert [item["state"] for item in rest.approvals(writing)] == ["pending"]
    assert [item["state"] for item in rest.inputs(asking)] == ["pending"]
    assert rest.invocation(writing)["status"] == "awaiting-input"


def test_a_host_sees_only_what_he_has_started(people: People, rest: Rest, puppet: Puppet) -> None:
    foreign = puppet.play(rest, "of-the-owner", puppets.writes("of-the-owner", 1))
    approval = rest.until_asked(foreign)[0]
    page = people.open("host")
    page.goto("/invocations/")
    expect(page.get_by_role("row").filter(has_text="user:host")).to_have_count(4)
    expect(page.get_by_role("row").filter(has_text="of-the-owner")).to_have_count(0)
    for place in ("/inbox/others/", "/inbox/", "/deliveries/", "/inbox/running/", "/affinities/", "/leases/"):
        page.goto(place)
        expect(page.locator("main")).not_to_contain_text("of-the-owner")
    delivery = rest.invocation(foreign)["delivery_id"]
    assert statuses(page, rest, foreign, approval, delivery) == {404}


def statuses(page: Page, rest: Rest, invocation: str, approval: Item, delivery: str) -> set[int]:
    """Ask for everything that there is of an invocation; return how it was answered."""
    places = [
        f"/approvals/{approval['id']}/",
        f"/approvals/{approval['id']}/edit/",
        f"/approvals/{approval['id']}/outcome/",
        *(f"/invocations/{invocation}/{depth}" for depth in ("", "transcript/", "journal/", "dispatch/")),
        f"/invocations/{invocation}/journal/1/",
        f"/invocations/{invocation}/parts/figures/",
        f"/invocations/{invocation}/resolve/",
        f"/invocations/{invocation}/retry/",
        f"/affinities/{rest.get('/affinities', delivery=rest.invocation(invocation)['delivery'])['items'][0]['id']}/",
        f"/deliveries/{delivery}/",
    ]
    return {page.request.get(place).status for place in places}


@pytest.fixture(scope="module")
def stranger(server: Demo) -> dict[str, str]:
    """Make a tenant beside the demo's, with an owner of its own."""
    manage(
        server,
        ["tenant", "add", "elsewhere"],
        ["member", "add", "stranger", "--role", "owner", "--tenant", "elsewhere"],
        given=SECRET,
    )
    return {"username": "stranger", "password": SECRET}


def test_for_another_tenant_nothing_of_ours_is_there(
    people: People, rest: Rest, puppet: Puppet, stranger: dict[str, str]
) -> None:
    ours = puppet.play(rest, "ours-alone", puppets.writes("ours-alone", 1))
    approval = rest.until_asked(ours)[0]
    page = people.stranger()
    page.goto("/")
    people.fill_in(page, **stranger)
    expect(page.get_by_role("heading", name="All quiet")).to_be_visible()
    for place in ("/invocations/", "/deliveries/", "/agents/", "/inbox/others/", "/affinities/", "/leases/"):
        page.goto(place)
        expect(page.locator("main [data-row]")).to_have_count(0)
    delivery = rest.invocation(ours)["delivery_id"]
    assert statuses(page, rest, ours, approval, delivery) == {404}
    form: dict[str, Any] = {"csrfmiddlewaretoken": token_of(page), "decision": "approve"}
    decided = page.request.post(f"/approvals/{approval['id']}/decide/", form=form)
    assert decided.status == 404
    page.goto(f"/approvals/{approval['id']}/")
    expect(page.get_by_role("heading", name=re.compile("nothing here"))).to_be_visible()
    assert [item["state"] for item in rest.approvals(ours)] == ["pending"]
