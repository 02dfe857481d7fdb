"""People at their browsers: each in a context of his own, signed in through the form once a session."""

from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    StorageState,
    ViewportSize,
    expect,
)

from tests.harness.demo import Demo

DESK: ViewportSize = {"width": 1440, "height": 900}
UNREACHABLE = ("ERR_CONNECTION_REFUSED", "WebSocket connection to", "htmx:ws:error")


@dataclass
class People:
    """Open pages as somebody, and note whatever their browsers complain about."""

    browser: Browser
    demo: Demo
    _states: dict[str, StorageState] = field(default_factory=dict)
    _contexts: list[BrowserContext] = field(default_factory=list)
    _complaints: list[str] = field(default_factory=list)

    def open(self, role: str, **options: Any) -> Page:
        """Open an empty page as the person of a role."""
        if role not in self._states:
            page = self.stranger()
            self.sign_in(page, role)
            self._states[role] = page.context.storage_state()
            page.context.close()
        return self.stranger(storage_state=self._states[role], **options)

    def stranger(self, **options: Any) -> Page:
        """Open an empty page in a context that knows nobody."""
        context = self.browser.new_context(base_url=self.demo.url, **{"viewport": DESK, **options})
        context.set_default_timeout(15_000)
        self._contexts.append(context)
        context.on("page", self._listen)
        return context.new_page()

    def sign_in(self, page: Page, role: str) -> None:
        """Sign in through the form."""
        page.goto("/")
        self.fill_in(page, **self.demo.users[role])
        expect(page.locator("main")).to_be_visible()
        expect(page.locator("input[name=password]")).to_have_count(0)

    @staticmethod
    def fill_in(page: Page, username: str, password: str) -> None:
        """Send the form of the entrance."""
        page.fill("input[name=login]", username)
        page.fill("input[name=password]", password)
        page.click("form[action*=login] button[type=submit]")

    def leave(self) -> list[str]:
        """Close everything and return the complaints since the last time."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()
        complaints, self._complaints = self._complaints, []
        return complaints

    def complaints(self) -> list[str]:
        """Return the complaints so far."""
        return list(self._complaints)

    def _listen(self, page: Page) -> None:
        page.on("pageerror", lambda error: self._complaints.append(f"{page.url}: {error}"))
        page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        """Note every error but what a browser says of answers that a test asked for, and of a server that is away."""
        if message.type != "error" or message.text.startswith(
            "Failed to load resource: the server responded"
        ):
            return
        if any(words in message.text for words in UNREACHABLE):
            return
        place = message.page.url if message.page else "?"
        self._complaints.append(f"{place}: {message.text}")
