"""The moment after a card is drawn, in which neither a key nor a press on approve counts."""

from playwright.sync_api import Page

LENGTH_MS = 360


def outwait(page: Page) -> None:
    """Let the moment pass, by the page's own clock."""
    page.evaluate(f"() => new Promise((done) => setTimeout(done, {LENGTH_MS}))")
