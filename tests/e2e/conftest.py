"""A running console and a browser to look at it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.harness import browser as browsers
from tests.harness import demo as demos

PICTURES = Path(os.environ.get("PICTURES", "test-output/pictures"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[demos.Demo]:
    """Run one demo for all journeys."""
    with demos.running(tmp_path_factory.mktemp("demo") / "data") as demo:
        yield demo


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run one browser for all journeys; every test gets a context of its own."""
    with browsers.started() as started:
        yield started


@pytest.fixture
def page(browser: Browser, server: demos.Demo) -> Iterator[Page]:
    """Open a page in a fresh context; a script error or a refused resource fails the test."""
    context = browser.new_context(base_url=server.url, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            complaints.append(message.text)

    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", note)
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def sign_in(page: Page, server: demos.Demo) -> Callable[[str], Page]:
    """Sign in as the person of a role, through the form."""

    def as_role(role: str) -> Page:
        page.goto("/")
        page.fill("input[name=login]", server.users[role]["username"])
        page.fill("input[name=password]", server.users[role]["password"])
        page.click("form[action*=login] button[type=submit]")
        page.wait_for_url("**/inbox/**")
        return page

    return as_role


@pytest.fixture
def picture(page: Page) -> Callable[[str], None]:
    """Keep what the page looks like, as a file that a person can judge."""

    def keep(name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"{name}.png")

    return keep
