"""Every page in both languages, light and dark: no error, no violation of the policy, nothing that shuts people out."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Response, ViewportSize, expect

from lifecycle_core.testing.http_sink import HttpSink
from tests.e2e import addresses
from tests.e2e.people import DESK, People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Rest
from tests.harness.demo import Demo

# The content scrolls inside its frame; a document that scrolls too would carry the frame away.
DOCUMENT_SCROLLS = """() => document.querySelector("main.main") !== null
    && document.documentElement.scrollHeight > document.documentElement.clientHeight"""
SERIOUS = frozenset({"serious", "critical"})
LOOKS = {
    "english-light": {"locale": "en-GB", "color_scheme": "light"},
    "chinese-dark": {"locale": "zh-CN", "color_scheme": "dark"},
}
PHONE: ViewportSize = {"width": 360, "height": 780}
OPTIONS = {
    "preload": False,
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
}


@pytest.fixture(scope="module")
def places(server: Demo, puppet: Puppet, sink: HttpSink) -> Iterator[dict[str, str]]:
    """Make something for every page to show."""
    with Rest.of(server, "owner") as rest:
        every = addresses.every(rest, puppet, sink, "every")
        yield {name: place for name, place in every.items() if name not in addresses.ALIKE}
        puppet.script.release()


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_well_formed_for_everybody(people: People, places: dict[str, str], look: str) -> None:
    """Look at every other page in each look; the long form looks at every page in both."""
    chosen = list(places)[list(LOOKS).index(look) :: len(LOOKS)]
    look_at(people, {name: places[name] for name in chosen}, look)


@pytest.mark.soak
@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_well_formed_in_every_look(people: People, places: dict[str, str], look: str) -> None:
    look_at(people, places, look)


def look_at(people: People, places: dict[str, str], look: str) -> None:
    """Open every place in a look, and find nothing to complain of."""
    options: dict[str, Any] = LOOKS[look]
    page = people.open("owner", **options)
    findings: list[str] = []
    page.on("response", lambda response: findings.extend(missing(response)))
    for name, place in places.items():
        page.goto(place)
        findings += [f"{name}: {finding}" for finding in [*found(page), *beyond_a_phone(page)]]
    page = people.stranger(**options)
    page.goto("/accounts/login/")
    findings += [f"sign-in: {finding}" for finding in [*found(page), *beyond_a_phone(page)]]
    assert findings == []
    assert people.complaints() == []


def found(page: Page) -> list[str]:
    """Return what shuts people out of a page, as axe sees it."""
    expect(page.locator("main")).to_be_visible()
    violations = Axe().run(page, options=OPTIONS).response["violations"]
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in violations
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


def missing(response: Response) -> list[str]:
    """Return what a page asks for in vain."""
    wanted = response.status < 400 or response.request.is_navigation_request()
    return [] if wanted else [f"{response.status} {response.url}"]


def beyond_a_phone(page: Page) -> list[str]:
    """Return what a page would hide beside the narrowest screen that it has to work on."""
    page.set_viewport_size(PHONE)
    width = page.evaluate("() => document.documentElement.scrollWidth")
    tall = page.evaluate(DOCUMENT_SCROLLS)
    page.set_viewport_size(DESK)
    tall = tall or page.evaluate(DOCUMENT_SCROLLS)
    wide = [] if width <= PHONE["width"] else [f"is {width} wide"]
    return [*wide, *(["scrolls away under its frame"] if tall else [])]


def test_axe_would_find_what_shuts_people_out(page: Page) -> None:
    page.goto("/accounts/login/")
    page.evaluate(
        """() => {
          const field = document.querySelector("input[name=password]");
          field.labels[0].remove();
          field.removeAttribute("placeholder");
          Object.assign(document.querySelector("h1").style, { color: "#888", background: "#777" });
        }"""
    )
    findings = found(page)
    assert [finding.partition(":")[0] for finding in findings] == ["color-contrast", "label"]


@pytest.mark.parametrize("look", LOOKS)
def test_what_opens_on_a_page_is_well_formed_too(people: People, places: dict[str, str], look: str) -> None:
    options: dict[str, Any] = LOOKS[look]
    page = people.open("owner", **options)
    page.goto(places["approval"])
    for panel in page.locator(".verdict details").all():
        panel.locator("summary").click()
        assert found(page) == []
        panel.locator("[data-close]").click()
    page.locator("details.me > summary").click()
    assert found(page) == []
    page.locator("[data-keys]").first.click()
    assert found(page) == []
