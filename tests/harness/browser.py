"""Find and start a browser. `python -m tests.harness.browser` says which."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
SYSTEM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable(playwright: Playwright) -> str:
    """Choose the browser: CHROMIUM_PATH, then Playwright's own, then the system's."""
    if named := os.environ.get("CHROMIUM_PATH"):
        return named
    if Path(own := playwright.chromium.executable_path).exists():
        return own
    for name in SYSTEM_NAMES:
        if found := shutil.which(name):
            return found
    raise RuntimeError("No browser found: install Debian's chromium, or name one in CHROMIUM_PATH.")


@contextmanager
def started() -> Iterator[Browser]:
    """Run a headless Chromium for the length of a block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(playwright), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def main() -> None:
    """Print which browser the tests would use."""
    with sync_playwright() as playwright:
        print(executable(playwright))  # noqa: T201


if __name__ == "__main__":
    main()
