"""Pictures of the pages, made only when somebody asks for them.

`PICTURES=docs/images` writes the one of the first page. `GALLERY=folder` writes every page at the width of a phone and of a
desk, light and dark, in both languages, empty and full, for people to judge.
"""

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lifecycle_core.testing.http_sink import HttpSink
from tests.e2e import addresses
from tests.e2e.people import People
from tests.e2e.puppet import Puppet, manage
from tests.e2e.rest import Rest
from tests.harness.demo import Demo

PICTURES = os.environ.get("PICTURES")
GALLERY = os.environ.get("GALLERY")
SECRET = "correct-horse-battery"
WIDTHS = {"390": (390, 844), "1440": (1440, 900)}
LOOKS = [
    (f"{width}-{scheme}-{language}", {"width": size[0], "height": size[1]}, scheme, language)
    for (width, size), scheme, language in product(WIDTHS.items(), ("light", "dark"), ("en", "zh-CN"))
]
EMPTY = (
    "inbox",
    "inbox-others",
    "inbox-running",
    "inbox-done",
    "start",
    "invocations",
    "deliveries",
    "tombstones",
    "agents",
    "leases",
    "affinities",
)


@pytest.mark.skipif(PICTURES is None, reason="pictures are made with PICTURES=folder")
def test_the_inbox(people: People, rest: Rest) -> None:
    review = rest.get("/invocations", delivery="dependency-review-1")["items"][0]["id"]
    todo = max(rest.until_asked(review, 2), key=lambda item: str(item["arguments"]["path"]))
    rest.until_questioned(rest.get("/invocations", delivery="release-notes-1")["items"][0]["id"])
    rest.until_asked(rest.get("/invocations", delivery="status-post-1")["items"][0]["id"])
    page = people.open("operator", viewport={"width": 1280, "height": 800}, color_scheme="light")
    page.goto(f"/approvals/{todo['id']}/")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    expect(page.locator("#entries [data-row]")).to_have_count(5)
    page.screenshot(path=Path(str(PICTURES)) / "inbox.png")


@pytest.fixture(scope="module")
def folder() -> Path:
    """Name where the gallery goes."""
    place = Path(str(GALLERY))
    place.mkdir(parents=True, exist_ok=True)
    return place


@pytest.fixture(scope="module")
def full(server: Demo, puppet: Puppet, sink: HttpSink) -> Iterator[dict[str, str]]:
    """Make something for every page to show."""
    with Rest.of(server, "owner") as rest:
        yield addresses.every(rest, puppet, sink, "gallery")
        puppet.script.release()


@pytest.fixture(scope="module")
def newcomer(server: Demo) -> dict[str, str]:
    """Make a tenant in which nothing has happened yet."""
    manage(
        server,
        ["tenant", "add", "untouched"],
        ["member", "add", "newcomer", "--role", "owner", "--tenant", "untouched"],
        given=SECRET,
    )
    return {"username": "newcomer", "password": SECRET}


@pytest.mark.skipif(GALLERY is None, reason="the gallery is made with GALLERY=folder")
@pytest.mark.parametrize(("name", "viewport", "scheme", "language"), LOOKS, ids=[look[0] for look in LOOKS])
def test_the_gallery(
    people: People,
    full: dict[str, str],
    newcomer: dict[str, str],
    folder: Path,
    name: str,
    viewport: dict[str, int],
    scheme: str,
    language: str,
) -> None:
    options: dict[str, Any] = {"viewport": viewport, "color_scheme": scheme, "locale": language}
    page = people.open("owner", **options)
    for place, path in full.items():
        keep(page, path, folder / f"{place}-{name}.png")
    page = people.stranger(**options)
    keep(page, "/accounts/login/", folder / f"sign-in-{name}.png")
    people.fill_in(page, **newcomer)
    expect(page.locator("#entries")).to_be_visible()
    for place in EMPTY:
        keep(page, addresses.LISTS[place], folder / f"{place}-empty-{name}.png")


def keep(page: Page, path: str, file: Path) -> None:
    """Open a page and write what it looks like."""
    page.goto(path)
    expect(page.locator("main")).to_be_visible()
    if page.locator("#live").count():
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.screenshot(path=file)
