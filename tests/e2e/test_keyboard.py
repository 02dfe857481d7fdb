"""Everything by keyboard, and no key that does what nobody meant."""

import re

import pytest
from playwright.sync_api import Page, expect

from lifecycle_core.testing.http_sink import HttpSink
from tests.e2e import addresses, moments
from tests.e2e import puppet as puppets
from tests.e2e.people import People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Rest

FOCUSABLE = """
() => {
  const all = document.querySelectorAll(
    "a[href], button:enabled, input:enabled:not([type=hidden]), select, textarea, summary, [tabindex='0']");
  const radios = new Set();
  return [...all].filter((element) => {
    if (element.tabIndex < 0 || !element.checkVisibility({ visibilityProperty: true })) return false;
    if (element.type !== "radio") return true;
    const first = !radios.has(element.name);
    radios.add(element.name);
    return first;
  }).length;
}
"""
REACHED = """
() => {
  const element = document.activeElement;
  if (!element || element === document.body || "reached" in element.dataset) return null;
  element.dataset.reached = "";
  const shown = [element, element.parentElement, element.parentElement.parentElement]
    .map((candidate) => getComputedStyle(candidate))
    .some((style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0);
  return shown ? "" : element.outerHTML.slice(0, 200);
}
"""


@pytest.fixture
def operator(people: People) -> Page:
    return people.open("operator")


def test_moving_opening_approving_and_rejecting(operator: Page, rest: Rest, puppet: Puppet) -> None:
    invocation = puppet.play(rest, "by-keys", puppets.writes("by-keys", 2))
    rest.until_asked(invocation, 2)
    operator.goto("/inbox/?delivery=by-keys")
    rows = operator.locator("#entries [data-row]")
    expect(rows).to_have_count(2)
    operator.keyboard.press("j")
    expect(rows.first).to_be_focused()
    operator.keyboard.press("j")
    expect(rows.last).to_be_focused()
    operator.keyboard.press("k")
    expect(rows.first).to_be_focused()
    operator.keyboard.press("Enter")
    approve = operator.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()

    moments.outwait(operator)
    operator.keyboard.press("a")
    expect(approve).to_have_class(re.compile("armed"))
    expect(approve).to_be_focused()
    assert len(rest.approvals(invocation)) == 2
    operator.keyboard.press("Escape")
    expect(approve).not_to_have_class(re.compile("armed"))
    operator.keyboard.press("a")
    operator.keyboard.press("a")
    expect(operator.get_by_text("Decided.")).to_be_visible()
    expect(rows).to_have_count(1)

    moments.outwait(operator)
    operator.keyboard.press("x")
    reason = operator.get_by_label("Reason, told to the agent")
    expect(reason).to_be_focused()
    operator.keyboard.type("ja? x e r")
    expect(reason).to_have_value("ja? x e r")
    operator.get_by_role("button", name="Reject the call").press("Enter")
    rest.until_status(invocation, "completed")
    assert rest.approvals(invocation, "rejected")[0]["decisions"][0]["reason"] == "ja? x e r"
    expect(operator.get_by_role("heading", name="Nothing fits the filter")).to_be_visible()
    moments.outwait(operator)
    operator.keyboard.press("p")
    expect(operator.locator(".fact")).to_contain_text("ja? x e r")


def test_a_key_does_nothing_in_the_moment_after_a_card_is_drawn(
    operator: Page, rest: Rest, puppet: Puppet
) -> None:
    invocation = puppet.play(rest, "too-soon", puppets.writes("too-soon", 1))
    rest.until_asked(invocation)
    operator.goto("/inbox/?delivery=too-soon")
    operator.evaluate(
        """() => document.addEventListener("htmx:after:swap", () => {
          for (const key of ["a", "a", "x", "e", "r"])
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
          window.pressed = true;
        }, { once: true })"""
    )
    operator.locator("#entries [data-row]").click()
    expect(operator.get_by_role("button", name="Approve")).to_be_visible()
    assert operator.evaluate("() => window.pressed")
    expect(operator.locator(".armed, .verdict details[open]")).to_have_count(0)
    expect(operator.locator("#editor")).to_have_count(0)
    moments.outwait(operator)
    operator.keyboard.press("a")
    expect(operator.locator(".armed")).to_have_count(1)
    assert len(rest.approvals(invocation)) == 1


def test_a_press_on_approve_does_nothing_in_the_moment_after_the_card_is_drawn(
    operator: Page, rest: Rest, puppet: Puppet
) -> None:
    invocation = puppet.play(rest, "hasty", puppets.writes("hasty", 1))
    rest.until_asked(invocation)
    operator.goto("/inbox/?delivery=hasty")
    operator.evaluate(
        """() => document.addEventListener("htmx:after:swap", () => {
          document.querySelector("[data-approve]").click();
          window.pressed = true;
        }, { once: true })"""
    )
    operator.locator("#entries [data-row]").click()
    approve = operator.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    assert operator.evaluate("() => window.pressed")
    moments.outwait(operator)
    assert len(rest.approvals(invocation)) == 1
    approve.click()
    expect(operator.get_by_text("Decided.")).to_be_visible()


def test_keys_are_letters_in_a_field_and_nothing_in_a_dialogue(
    operator: Page, rest: Rest, puppet: Puppet
) -> None:
    invocation = puppet.play(rest, "letters", puppets.writes("letters", 1))
    approval = rest.until_asked(invocation)[0]
    operator.goto(f"/approvals/{approval['id']}/")
    moments.outwait(operator)
    operator.keyboard.press("/")
    search = operator.get_by_role("searchbox")
    expect(search).to_be_focused()
    operator.keyboard.type("aaxe?jgd")
    expect(search).to_have_value("aaxe?jgd")
    operator.keyboard.press("Escape")
    operator.keyboard.press("?")
    dialogue = operator.get_by_role("dialog", name="Keyboard")
    expect(dialogue).to_be_visible()
    operator.keyboard.type("aax")
    expect(operator.locator(".armed, .verdict details[open]")).to_have_count(0)
    operator.keyboard.press("Escape")
    expect(dialogue).to_be_hidden()
    assert len(rest.approvals(invocation)) == 1
    operator.keyboard.press("e")
    expect(operator.get_by_role("button", name="Run edited")).to_be_visible()
    operator.keyboard.press("g")
    operator.keyboard.press("d")
    expect(operator).to_have_url(re.compile("/deliveries/$"))


@pytest.mark.parametrize("place", ["approval", "start-form", "journal", "retire", "resolve", "affinities"])
def test_tab_reaches_everything_and_shows_where_it_is(
    people: People, rest: Rest, puppet: Puppet, sink: HttpSink, place: str
) -> None:
    invocation = puppet.play(rest, f"tab-{place}", puppets.writes(f"tab-{place}", 1))
    approval = rest.until_asked(invocation)[0]
    delivery = rest.invocation(invocation)["delivery_id"]
    lost = addresses.lose(rest, puppet, sink, "tab-lost") if place == "resolve" else ""
    page = people.open("owner")
    page.goto(
        {
            "approval": f"/approvals/{approval['id']}/",
            "start-form": "/start/release-notes/write-notes/",
            "journal": f"/invocations/{invocation}/journal/",
            "retire": f"/deliveries/{delivery}/retire/",
            "resolve": f"/invocations/{lost}/resolve/",
            "affinities": "/affinities/",
        }[place]
    )
    expected = int(page.evaluate(FOCUSABLE))
    assert expected > 10
    page.evaluate("() => document.activeElement.blur()")
    invisible = []
    reached = 0
    while reached <= expected:
        page.keyboard.press("Tab")
        found = page.evaluate(REACHED)
        if found is None:
            break
        reached += 1
        invisible += [found] if found else []
    assert invisible == []
    assert reached >= expected
