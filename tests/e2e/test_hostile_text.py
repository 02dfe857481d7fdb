"""What an agent writes stays text, wherever it is shown and however it comes there."""

import re

from playwright.sync_api import Page, expect

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.scenarios import steps
from tests.e2e import puppet as puppets
from tests.e2e.people import People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Rest

MARKUP = (
    '<img src="/trap-image" onerror="window.trapped=1"><div hx-get="/trap-get" hx-trigger="load">x</div>'
    '<script>window.trapped=1</script><a href="javascript:window.trapped=1">y</a>'
    "<hx-partial hx-target='body'>z</hx-partial></pre></textarea></template>"
    "{{ 7|add:7 }} {% now %} ![i](http://127.0.0.1/trap-markdown)"
)
HIDDEN = "pay \u202e001\u202c to\u200b \U000e0041\U000e0042 bob\u2066\u2069"
HOSTILE = f"{MARKUP} {HIDDEN}"
QUESTION: dict[str, Json] = {
    "type": "object",
    "required": ["a"],
    "properties": {
        "a": {"enum": [f"option {MARKUP}", "plain"], "title": f"title {MARKUP}", "description": MARKUP},
        "b": {"type": "string", "description": HOSTILE},
    },
}
DEPTHS = ("", "transcript/", "journal/", "dispatch/")
TRAPS = "[src*='trap-'], [hx-get*='trap-'], [href*='trap-'], [href^='javascript:'], hx-partial"


def test_it_stays_text_everywhere(people: People, rest: Rest, puppet: Puppet) -> None:
    invocation = puppet.play(
        rest,
        "hostile",
        puppets.say(HOSTILE, steps.ask("q", f"Which? {HOSTILE}", QUESTION)),
        puppets.say(f"Then: {HOSTILE}", steps.write("puppet/hostile <b hx-get=trap-.md", f"{HOSTILE}\n")),
    )
    asked = rest.until_questioned(invocation)
    opened = people.open("owner")
    requests: list[str] = []
    opened.context.on("request", lambda request: requests.append(request.url))
    pages = [opened, *(opened.context.new_page() for _ in DEPTHS[1:])]
    for page, depth in zip(pages, DEPTHS, strict=True):
        page.goto(f"/invocations/{invocation}/{depth}")
    expect(opened.locator("#live")).to_have_attribute("data-state", "live")
    decider = opened.context.new_page()
    decider.goto("/inbox/?delivery=hostile")
    decider.locator("#entries [data-row]").click()
    expect(decider.locator(".token", has_text="U+202E").first).to_be_visible()
    decider.get_by_label(re.compile("^plain$")).check()
    decider.get_by_role("button", name="Answer").click()
    expect(decider.get_by_text("Answered.")).to_be_visible()
    approval = rest.until_asked(invocation)[0]
    check(decider)

    decider.locator("#entries [data-row]", has_text="files_write").click()
    expect(decider.locator(".flags")).to_contain_text("Text direction is overridden")
    expect(decider.locator(".runs .token", has_text="U+E0041")).to_be_visible()
    expect(decider.locator(".runs")).to_contain_text('<img src="/trap-image"')
    check(decider)
    assert rest.decide(approval, "approve").status_code == 200
    rest.until_status(invocation, "completed")
    expect(decider.locator(".fact")).to_be_visible()

    for page in pages:
        expect(page.locator(".inv-head [data-status]")).to_have_text("Completed")
        expect(page.locator("#ending")).to_contain_text("<script>window.trapped=1</script>")
        check(page)
        page.reload()
        check(page)
    expect(pages[1].locator(".transcript")).to_contain_text("{{ 7|add:7 }}")
    for place in (f"/invocations/{invocation}/journal/1/", f"/inputs/{asked['id']}/", "/inbox/done/"):
        decider.goto(place)
        check(decider)
    assert [url for url in requests if "trap-" in url] == []


def check(page: Page) -> None:
    """Expect that nothing of the text has become a part of the page."""
    expect(page.locator("main")).to_be_visible()
    assert page.locator(TRAPS).count() == 0
    assert page.evaluate("() => window.trapped") is None
