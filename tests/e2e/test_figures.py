"""What people wait for, measured by the browser's own clock. Printed at the end; nothing is asserted about it."""

from playwright.sync_api import Page, expect

from tests.e2e import moments
from tests.e2e import puppet as puppets
from tests.e2e.figures import Figures
from tests.e2e.people import People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Rest

INVOCATIONS = 3
CALLS = 4
CLICKS = """
() => {
  const clock = () => performance.timeOrigin + performance.now();
  window.marks = [];
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-approve]")) return;
    marks.push({ card: document.getElementById("card").dataset.request, clicked: clock() });
  }, true);
  new MutationObserver(() => {
    const mark = marks.at(-1);
    if (!mark || mark.result) return;
    const notice = document.querySelector(`#just-done:has(a[href*="${mark.card}"])`);
    if (notice) mark.taken ??= clock();
    if (notice?.querySelector(".chip")) mark.result = clock();
  }).observe(document.body, { subtree: true, childList: true });
}
"""
RESULTS = """
() => {
  window.results = [];
  new MutationObserver(() => {
    const count = document.querySelectorAll('.transcript > li[data-kind="result"]').length;
    while (results.length < count) results.push(performance.timeOrigin + performance.now());
  }).observe(document.querySelector(".transcript"), { childList: true });
}
"""


def test_from_the_click_on_approve_to_the_result(
    people: People, rest: Rest, puppet: Puppet, figures: Figures
) -> None:
    operator, auditor = people.open("operator"), people.open("auditor")
    own, taken, watched = [], [], []
    for number in range(INVOCATIONS):
        invocation = puppet.play(rest, "measured", puppets.writes(f"measured-{number}", CALLS))
        rest.until_asked(invocation, CALLS)
        watch(auditor, invocation)
        operator.goto("/inbox/?delivery=measured")
        operator.locator("#entries [data-row]").first.click()
        operator.evaluate(CLICKS)
        for _ in range(CALLS):
            approve(operator)
        marks = operator.evaluate("() => marks")
        auditor.wait_for_function(f"() => results.length >= {CALLS}")
        results = auditor.evaluate("() => results")[:CALLS]
        own += [mark["result"] - mark["clicked"] for mark in marks]
        taken += [mark["taken"] - mark["clicked"] for mark in marks]
        watched += [result - mark["clicked"] for mark, result in zip(marks, results, strict=True)]
        rest.until_status(invocation, "completed")
    figures.spread("click on approve to the next card", taken, "ms")
    figures.spread("click on approve to the result on the same page", own, "ms")
    figures.spread("click on approve to the result on the page of somebody who watches", watched, "ms")


def watch(auditor: Page, invocation: str) -> None:
    """Note when each result comes to the transcript."""
    auditor.goto(f"/invocations/{invocation}/transcript/")
    expect(auditor.locator("#live")).to_have_attribute("data-state", "live")
    auditor.evaluate(RESULTS)


def approve(operator: Page) -> None:
    """Approve the card that is open, and wait for the result of it."""
    clicked = operator.evaluate("() => marks.length")
    button = operator.get_by_role("button", name="Approve")
    expect(button).to_be_visible()
    moments.outwait(operator)
    button.click()
    operator.wait_for_function(f"() => marks.length > {clicked} && marks.at(-1).result")
