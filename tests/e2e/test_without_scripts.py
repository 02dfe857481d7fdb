"""Everything that people decide works in a browser that runs no scripts."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.scenarios import steps
from tests.e2e import puppet as puppets
from tests.e2e.people import People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Rest

QUESTION: dict[str, Json] = {
    "type": "object",
    "required": ["colour"],
    "properties": {"colour": {"enum": ["red", "green"]}, "why": {"type": "string", "maxLength": 20}},
}


@pytest.fixture
def operator(people: People) -> Page:
    return people.open("operator", java_script_enabled=False)


@pytest.fixture
def owner(people: People) -> Page:
    return people.open("owner", java_script_enabled=False)


def test_signing_in(people: People) -> None:
    page = people.stranger(java_script_enabled=False)
    people.sign_in(page, "operator")
    expect(page).to_have_url(re.compile("/inbox/"))


def test_every_way_to_decide(operator: Page, rest: Rest, puppet: Puppet) -> None:
    invocation = puppet.play(rest, "plain-decisions", puppets.writes("plain", 4))
    approve, edit, reject, respond = rest.until_asked(invocation, 4)

    operator.goto("/inbox/?delivery=plain-decisions")
    expect(operator.locator("#entries [data-row]")).to_have_count(4)
    operator.locator(f"#row-{approve['id']} [data-row]").click()
    operator.get_by_role("button", name="Approve").click()
    expect(operator.get_by_text("Decided.")).to_be_visible()

    operator.goto(f"/approvals/{edit['id']}/")
    operator.get_by_role("link", name="Edit").click()
    operator.get_by_label("content").fill("edited by hand\n")
    operator.get_by_role("button", name="Run edited").click()
    expect(operator.get_by_text("Decided.")).to_be_visible()

    operator.goto(f"/approvals/{reject['id']}/")
    operator.locator("summary", has_text="Reject").click()
    operator.get_by_label("Reason, told to the agent").fill("not this one")
    operator.get_by_role("button", name="Reject the call").click()
    expect(operator.get_by_text("Decided.")).to_be_visible()

    operator.goto(f"/approvals/{respond['id']}/")
    operator.locator("summary", has_text="Respond").click()
    operator.get_by_label("Your answer, given to the agent").fill("it is written already")
    operator.get_by_role("button", name="Answer in its place").click()
    expect(operator.get_by_text("Decided.")).to_be_visible()

    rest.until_status(invocation, "completed")
    assert puppet.written("puppet/plain/0.md") == "# plain 0\n"
    assert puppet.written("puppet/plain/1.md") == "edited by hand\n"
    assert puppet.written("puppet/plain/2.md") == puppet.written("puppet/plain/3.md") == ""
    operator.goto(f"/approvals/{reject['id']}/")
    expect(operator.locator(".fact")).to_contain_text("not this one")
    operator.goto(f"/approvals/{respond['id']}/")
    expect(operator.get_by_label("What came of it")).to_contain_text("it is written already")


def test_answering_and_declining(operator: Page, rest: Rest, puppet: Puppet) -> None:
    ask = puppets.say("I ask.", steps.ask("colour", "Which colour?", QUESTION))
    again = puppets.say("I ask again.", steps.ask("again", "Which colour, again?", QUESTION))
    invocation = puppet.play(rest, "plain-questions", ask, again)
    rest.until_questioned(invocation)

    operator.goto("/inbox/?delivery=plain-questions")
    operator.locator("#entries [data-row]").click()
    operator.get_by_role("button", name="Answer").click()
    expect(operator.get_by_role("group", name="colour").get_by_role("alert")).to_be_visible()
    operator.get_by_label("green").check()
    operator.get_by_label("why").fill("far too long for what is asked")
    operator.get_by_role("button", name="Answer").click()
    why = operator.locator(".field", has=operator.get_by_label("why"))
    expect(why.get_by_role("alert")).to_be_visible()
    expect(operator.get_by_label("green")).to_be_checked()
    operator.get_by_label("why").fill("it is calm")
    operator.get_by_role("button", name="Answer").click()
    expect(operator.get_by_text("Answered.")).to_be_visible()

    asked = rest.until_questioned(invocation)
    operator.goto(f"/inputs/{asked['id']}/")
    operator.locator("summary", has_text="Decline").click()
    operator.get_by_label("Reason, told to the agent").fill("ask somebody else")
    operator.get_by_role("button", name="Decline to answer").click()
    rest.until_status(invocation, "completed")
    states = {item["request_identity"]: item["state"] for item in rest.inputs(invocation, "answered")}
    states |= {item["request_identity"]: item["state"] for item in rest.inputs(invocation, "declined")}
    assert states == {"colour": "answered", "again": "declined"}


def test_starting_cancelling_and_retiring(owner: Page, rest: Rest, puppet: Puppet) -> None:
    owner.goto("/start/")
    owner.get_by_role("link", name=re.compile("play")).click()
    owner.get_by_role("button", name="Start").click()
    expect(owner.locator(".problem")).to_be_visible()
    owner.get_by_label("turns").fill(json.dumps([puppets.writes("plain-start", 1)]))
    owner.locator("summary", has_text="Part of a delivery").click()
    owner.get_by_label("Identity of the delivery").fill("plain-start")
    owner.get_by_role("button", name="Start").click()
    expect(owner).to_have_url(re.compile("/invocations/[0-9a-f-]{36}/$"))
    invocation = owner.url.rstrip("/").rpartition("/")[2]
    rest.until_asked(invocation)

    owner.reload()
    owner.get_by_role("link", name="Cancel").click()
    owner.get_by_label("Why").fill("not needed")
    owner.get_by_role("button", name="Cancel the invocation").click()
    expect(owner.locator(".inv-head [data-status]")).to_contain_text("Cancelled")

    owner.get_by_role("link", name="plain-start").click()
    owner.get_by_role("link", name="Retire").click()
    owner.get_by_label("Authorization").fill("ticket 17")
    owner.get_by_label("Type the identity").fill("plain-stat")
    owner.get_by_role("button", name="Retire for good").click()
    expect(owner.get_by_role("alert")).to_be_visible()
    owner.get_by_label("Type the identity").fill("plain-start")
    owner.get_by_role("button", name="Retire for good").click()
    expect(owner).to_have_url(re.compile("/tombstones/"))
    expect(owner.get_by_role("heading", name="plain-start")).to_be_visible()


def test_filtering_a_journal(owner: Page, rest: Rest, puppet: Puppet) -> None:
    invocation = puppet.play(rest, "plain-journal", puppets.say("Nothing much.", steps.listing(".")))
    rest.until_status(invocation, "completed")
    owner.goto(f"/invocations/{invocation}/journal/")
    everything = owner.locator("#rows > li").count()
    owner.get_by_label("Kind").select_option("model.responded")
    owner.get_by_role("button", name="Apply").click()
    expect(owner.locator("#rows > li")).not_to_have_count(everything)
    for row in owner.locator("#rows > li").all():
        expect(row).to_contain_text("model.responded")
    owner.locator("#rows > li summary").first.click()
    expect(owner.locator("#rows > li pre").first).to_contain_text("Nothing much.")


def test_choosing_another_language(operator: Page) -> None:
    operator.goto("/inbox/")
    operator.get_by_label("Your menu").click()
    operator.get_by_role("button", name="简体中文").click()
    expect(operator.locator("html")).to_have_attribute("lang", re.compile("zh-[Hh]ans"))
    expect(operator).to_have_url(re.compile("/inbox/"))
    operator.locator("details.me > summary").click()
    operator.get_by_role("button", name="English").click()
    expect(operator.locator("html")).to_have_attribute("lang", "en")
