"""What people do when something went wrong: say what became of a lost call, try again, wait for a session."""

import re

from playwright.sync_api import Page, expect

from lifecycle_core.testing.answers import Refusal
from lifecycle_core.testing.http_sink import HttpSink
from lifecycle_core.testing.scenarios import steps
from tests.e2e import addresses
from tests.e2e import puppet as puppets
from tests.e2e.people import People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Rest


def is_live(page: Page) -> None:
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_a_coordinator_says_that_a_lost_call_happened_and_the_agent_goes_on(
    people: People, rest: Rest, puppet: Puppet, sink: HttpSink
) -> None:
    before = len(sink.posts)
    lost = addresses.lose(rest, puppet, sink, "lost-and-found")
    watching = people.open("viewer")
    watching.goto(f"/invocations/{lost}/")
    is_live(watching)
    expect(watching.get_by_text("Waits for a coordinator")).to_be_visible()
    watching.get_by_role("link", name="What is open").click()
    expect(watching.get_by_text("A coordinator finds out what happened")).to_be_visible()
    expect(watching.locator("main input")).to_have_count(0)
    watching.go_back()
    is_live(watching)

    page = people.open("coordinator")
    page.goto("/inbox/")
    page.locator(f"#row-{lost} a").click()
    expect(page.get_by_role("heading", name="http_request")).to_be_visible()
    expect(page.locator(".intent .runs")).to_contain_text('{"status": "all is well"}')
    result = page.get_by_label("What it gave")
    expect(result).to_be_hidden()
    page.get_by_label("It happened").check()
    result.fill('{"status": 201')
    page.get_by_label("as JSON").check()
    page.get_by_label("Let it go on").check()
    page.get_by_role("button", name="Resolve").click()
    # Everything that is wrong is said at once, beside its field, and nothing that was typed is lost.
    expect(page.locator(".problem")).to_have_count(2)
    expect(result).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Why: what you looked at")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Let it go on")).to_be_checked()
    result.fill('{"status": 201}')
    page.get_by_label("Why: what you looked at").fill("The status page shows it.")
    page.get_by_role("button", name="Resolve").click()
    page.wait_for_url(f"**/invocations/{lost}/")

    for seen in (page, watching):
        expect(seen.locator(f'[data-status="{lost}"]')).to_have_text("Completed")
        expect(seen.locator("#rows")).to_contain_text("It happened, says user:coordinator")
        expect(seen.locator("#rows")).to_contain_text("The status page shows it.")
    assert rest.invocation(lost)["disposition"]["result"] == {"last": "I post it."}
    page.get_by_role("link", name="Transcript").click()
    expect(page.locator("#rows")).to_contain_text("The invocation goes on")
    expect(page.locator("#rows")).to_contain_text("201")
    assert len(sink.posts) == before + 1


def test_a_lost_call_that_cannot_be_found_out_is_settled_by_keys_and_without_scripts(
    people: People, rest: Rest, puppet: Puppet, sink: HttpSink
) -> None:
    lost = addresses.lose(rest, puppet, sink, "lost-for-good")
    page = people.open("coordinator", java_script_enabled=False)
    page.goto(f"/invocations/{lost}/resolve/")
    page.get_by_label("It cannot be found out").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_label("Let it go on")).to_be_checked()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Settle it as failed")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.type("Nobody has a record of it.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/invocations/{lost}/")
    expect(page.locator(f'[data-status="{lost}"]')).to_have_text("Failed")
    expect(page.locator("#rows")).to_contain_text("Nobody has a record of it.")


def test_what_has_failed_is_tried_again(people: People, rest: Rest, puppet: Puppet) -> None:
    turn = puppets.refused(puppets.say("I try again.", steps.listing(".")), Refusal(status=400))
    failed = puppet.play(rest, "tried-again", turn)
    rest.until_status(failed, "failed")
    page = people.open("owner")
    page.goto(f"/invocations/{failed}/")
    page.get_by_role("link", name="Retry").click()
    page.get_by_role("button", name="Start attempt 2").click()
    page.wait_for_url(re.compile(f"/invocations/(?!{failed})"))
    expect(page.locator(".inv-head .tag")).to_have_text("attempt 2")
    expect(page.locator(".inv-head .chip").first).to_have_text("Completed")
    page.get_by_role("link", name="The attempt before").click()
    expect(page.locator(".inv-head .chip").first).to_have_text("Failed")
    expect(page.get_by_role("link", name="Retry")).to_have_count(0)
    page.get_by_role("link", name="The next attempt").click()
    expect(page.locator(".inv-head .tag")).to_have_text("attempt 2")


def test_who_waits_for_a_session_says_so_until_it_is_free(people: People, rest: Rest, puppet: Puppet) -> None:
    turn = puppets.held(puppets.say("I take my time."), "queue")
    holder = puppet.sing(rest, "queue", turn)
    assert puppet.script.holds["queue"].reached.wait(20)
    waiting = puppet.sing(rest, "queue", turn)
    page = people.open("viewer")
    page.goto(f"/invocations/{waiting}/")
    is_live(page)
    expect(page.locator("#queue")).to_contain_text("waits for a session")
    expect(page.get_by_role("link", name="Who holds it")).to_have_attribute("href", f"/invocations/{holder}/")
    working = people.open("viewer")
    working.goto("/leases/")
    is_live(working)
    row = working.get_by_role("row").filter(has_text="queue")
    expect(row).to_have_count(1)
    puppet.script.holds["queue"].released.set()
    expect(page.locator(f'[data-status="{waiting}"]')).to_have_text("Completed")
    expect(page.locator("#queue")).to_be_empty()
    expect(row).to_have_count(0)


def test_a_retired_delivery_leaves_the_list_and_its_tombstone_comes_by_itself(
    people: People, rest: Rest, puppet: Puppet
) -> None:
    gone = puppet.play(rest, "goes-away", puppets.say("I look.", steps.listing(".")))
    rest.until_status(gone, "completed")
    deliveries, tombstones = people.open("owner"), people.open("owner")
    for page, place in ((deliveries, "/deliveries/"), (tombstones, "/tombstones/")):
        page.goto(place)
        is_live(page)
    expect(deliveries.get_by_role("row").filter(has_text="goes-away")).to_have_count(1)
    rest.retire(rest.invocation(gone)["delivery_id"], "goes-away")
    expect(deliveries.get_by_role("row").filter(has_text="goes-away")).to_have_count(0)
    expect(tombstones.get_by_role("row").filter(has_text="goes-away")).to_have_count(1)
