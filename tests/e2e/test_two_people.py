"""Two people decide at once: one wins, the other is told who and when."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e import puppet as puppets
from tests.e2e.people import People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Item, Rest
from tests.harness.demo import Demo

AT_ONCE = 6


def decide_when_told(pipe: Connection, url: str, token: str) -> None:
    """Be another process that rejects: connect, say that it is ready, and decide the moment that it is told to."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=20) as http:
        while (approval := pipe.recv()) is not None:
            http.get("/healthz")
            pipe.send("ready")
            pipe.recv()
            body = {"decision": "reject", "request_digest": approval["request_digest"], "reason": "from afar"}
            answer = http.post(f"/api/v1/approvals/{approval['id']}/decision", json=body)
            pipe.send((answer.status_code, answer.json()))


@contextmanager
def somebody_else(demo: Demo) -> Iterator[Connection]:
    """Run the other process."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    other = spawning.Process(target=decide_when_told, args=(theirs, demo.url, demo.tokens["operator"]))
    other.start()
    try:
        yield ours
        ours.send(None)
        other.join(20)
        assert other.exitcode == 0
    finally:
        other.kill()


def test_of_two_at_once_one_wins_and_the_other_is_told(
    people: People, rest: Rest, puppet: Puppet, server: Demo
) -> None:
    invocation = puppet.play(rest, "at-once", puppets.writes("at-once", AT_ONCE))
    page = people.open("operator")
    with somebody_else(server) as other:
        for number, approval in enumerate(rest.until_asked(invocation, AT_ONCE)):
            page.goto(f"/approvals/{approval['id']}/")
            button = page.get_by_role("button", name="Approve")
            expect(button).to_be_enabled()
            other.send(approval)
            assert other.recv() == "ready"
            # The way from here to the server is longer through the browser, so it goes first every other time.
            if number % 2:
                button.evaluate("button => { button.click() }")
                other.send("now")
            else:
                other.send("now")
                button.evaluate("button => { button.click() }")
            status, answer = other.recv()
            agree(page, rest.get(f"/approvals/{approval['id']}"), status, answer)
    rest.until_status(invocation, "completed")


def agree(page: Page, item: Item, status: int, answer: Any) -> None:
    """Check that everybody was told the one thing that was decided."""
    assert len(item["decisions"]) == 1
    won = item["decisions"][0]
    if won["by"] == "user:operator":
        assert status == 409
        assert (answer["decided"]["by"], answer["decided"]["at"]) == (won["by"], won["at"])
        expect(page.get_by_text("Decided.")).to_be_visible()
    else:
        assert status == 200
        assert won["by"] == "token:demo-operator"
        fact = page.locator(f'[data-request="{item["id"]}"] .fact')
        expect(fact).to_contain_text("token:demo-operator")
        expect(fact.locator("time")).to_be_visible()


def test_the_card_of_who_hears_nothing_turns_into_the_fact_when_he_decides(
    people: People, rest: Rest, puppet: Puppet
) -> None:
    invocation = puppet.play(rest, "too-late", puppets.writes("too-late", 1))
    approval = rest.until_asked(invocation)[0]
    page = people.open("operator")
    page.route_web_socket("**/ws/pages", lambda socket: None)
    page.goto(f"/approvals/{approval['id']}/")
    assert rest.decide(approval, "reject", reason="I was first").status_code == 200
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text("too late")
    expect(page.locator(".fact")).to_contain_text("token:demo-owner")
    expect(page.locator(".fact")).to_contain_text("I was first")
    expect(page.locator(".fact time")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    rest.until_status(invocation, "completed")
    assert puppet.written("puppet/too-late/0.md") == ""


@pytest.mark.parametrize("place", ["card", "list"])
def test_an_open_page_turns_into_the_fact_by_itself(
    people: People, rest: Rest, puppet: Puppet, place: str
) -> None:
    invocation = puppet.play(rest, f"by-itself-{place}", puppets.writes(f"by-itself-{place}", 1))
    approval = rest.until_asked(invocation)[0]
    page = people.open("operator")
    if place == "card":
        page.goto(f"/approvals/{approval['id']}/")
    else:
        page.goto(f"/inbox/?delivery=by-itself-{place}")
        page.locator(f"#row-{approval['id']} [data-row]").click()
        page.mouse.move(1000, 5)
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    expect(page.get_by_role("button", name="Approve")).to_be_enabled()
    assert rest.decide(approval, "approve").status_code == 200
    expect(page.locator(".fact")).to_contain_text("token:demo-owner")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    if place == "list":
        expect(page.locator(f"#row-{approval['id']}")).to_have_count(0)
