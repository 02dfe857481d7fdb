"""The run: an agent asks and writes, an operator decides, an auditor watches, the server dies in between."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.figures import Figures
from tests.e2e.people import People
from tests.e2e.rest import Rest
from tests.harness import demo as demos

DELIVERY = "harbour-2.4.0"
HIGHLIGHT = "Moorings can be booked by the hour"
NOTES = "notes/2.4.0.md"
RESTART_MS = 30_000


@dataclass(kw_only=True)
class Console:
    """A demo that can be killed and started again at the same place."""

    demo: demos.Demo
    began: float
    ready: float

    def kill(self) -> None:
        """End the process as no supervisor would."""
        self.demo.process.kill()
        self.demo.process.wait()

    def restart(self) -> None:
        """Start again on the same data folder and port."""
        port = self.demo.url.rpartition(":")[2]
        self.demo = demos.start(self.demo.data, arguments=("--port", port), environ={})


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Run a demo of its own, because it is killed."""
    began = time.monotonic()
    demo = demos.start(tmp_path_factory.mktemp("run") / "data", arguments=(), environ={})
    console = Console(demo=demo, began=began, ready=time.monotonic())
    yield console
    console.demo.stop()


@pytest.fixture(scope="module")
def everybody(console: Console, browser: Browser) -> People:
    """Remember who has signed in to that demo."""
    return People(browser=browser, demo=console.demo)


@pytest.fixture
def cast(everybody: People) -> Iterator[People]:
    """Open pages as the people of that demo."""
    yield everybody
    assert everybody.leave() == []


@dataclass(kw_only=True)
class Watching:
    """The auditor: three depths of one invocation and the list of all, side by side."""

    everything: Page
    timeline: Page
    transcript: Page
    journal: Page

    @property
    def pages(self) -> list[Page]:
        return [self.everything, self.timeline, self.transcript, self.journal]

    def sees(self, line: str, entry: str, fact: str) -> None:
        """Expect a change in every depth."""
        expect(self.timeline.locator(f".timeline > li{line}").last).to_be_visible()
        expect(self.transcript.locator(f".transcript > li{entry}").last).to_be_visible()
        expect(
            self.journal.locator(".events > li code", has_text=re.compile(f"^{fact}$")).last
        ).to_be_visible()


def workspace(console: Console) -> Path:
    """Name the folder in which the demo's agents work."""
    return console.demo.data / "workspaces" / "demo"


def stay(page: Page) -> None:
    """Mark a page, so that a reload would show."""
    page.evaluate("() => { window.unbroken = true }")


def has_stayed(page: Page) -> bool:
    """Tell whether a page is the one that was marked."""
    return bool(page.evaluate("() => window.unbroken === true"))


def expect_lamp(page: Page, state: str) -> None:
    """Expect that a page says how fresh it is."""
    expect(page.locator("#live")).to_have_attribute("data-state", state, timeout=RESTART_MS)


def test_the_first_approval_is_on_the_screen_by_itself(
    console: Console, cast: People, figures: Figures
) -> None:
    page = cast.open("operator")
    page.goto("/inbox/")
    expect(page.locator("#entries [data-row]", has_text="files_write").first).to_be_visible()
    seen = time.monotonic()
    figures.note("start of the demo to READY", 1000 * (console.ready - console.began), "ms")
    figures.note(
        "READY to the first approval on the screen, with signing in", 1000 * (seen - console.ready), "ms"
    )
    figures.note("resident memory with the demo's own invocations", resident(console.demo.process.pid), "MiB")


def resident(pid: int) -> float:
    """Return how much of a process lies in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    [kilobytes] = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(kilobytes) / 1024


def test_the_run(console: Console, cast: People) -> None:
    operator = cast.open("operator")
    operator.goto("/inbox/")
    auditor = cast.open("auditor")
    auditor.goto("/invocations/")
    for page in (operator, auditor):
        expect_lamp(page, "live")
        stay(page)

    owner = cast.open("owner")
    start(owner)
    watching = watch(auditor)
    with Rest.of(console.demo, "owner") as rest:
        invocation = watching.timeline.url.rstrip("/").rpartition("/")[2]
        refuse_a_wrong_answer(operator, rest, invocation)
        watching.sees('[data-kind="input"]', '[data-kind="asked"]', "input.requested")
        read = (workspace(console) / "CHANGES.md").read_text().splitlines()[0]
        expect(watching.transcript.locator('[data-kind="result"]', has_text=read)).to_be_visible()
        answer(operator)
        watching.sees('[data-kind="approval"]', '[data-kind="decided"]', "input.answered")
        look_at_what_would_be_written(operator)
        watching.sees('[data-kind="tool"]', '[data-kind="call"]', "approval.requested")

    kill_and_restart(console, [operator, *watching.pages])
    approve(operator)
    watching.sees('[data-state="completed"]', '[data-kind="completed"]', "invocation.completed")
    expect_result(watching)
    for page in (operator, *watching.pages):
        assert has_stayed(page)
    assert HIGHLIGHT in (workspace(console) / NOTES).read_text()

    retire(owner)
    verify_what_is_left(auditor)


def start(page: Page) -> None:
    """Start the agent from its form."""
    page.goto("/start/")
    page.locator('a[href="/start/release-notes/write-notes/"]').click()
    page.get_by_label("version").fill("two point four")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".field", has=page.get_by_label("version")).get_by_role("alert")).to_be_visible()
    page.get_by_label("version").fill("2.4.0")
    page.locator("summary", has_text="Part of a delivery").click()
    page.get_by_label("Identity of the delivery").fill(DELIVERY)
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", name="write-notes")).to_be_visible()


def watch(auditor: Page) -> Watching:
    """Find the new invocation in the list, where it appears by itself, and open its three depths."""
    row = auditor.get_by_role("row", name=re.compile(DELIVERY))
    expect(row).to_be_visible()
    place = row.get_by_role("link").get_attribute("href")
    depths = [auditor.context.new_page() for _ in range(3)]
    for page, depth in zip(depths, ("", "transcript/", "journal/"), strict=True):
        page.goto(f"{place}{depth}")
        expect_lamp(page, "live")
        stay(page)
    timeline, transcript, journal = depths
    return Watching(everything=auditor, timeline=timeline, transcript=transcript, journal=journal)


def refuse_a_wrong_answer(operator: Page, rest: Rest, invocation: str) -> None:
    """Open the question when it arrives, answer it wrongly, and find it still open."""
    row = operator.locator("#entries [data-row]", has_text=DELIVERY)
    expect(row).to_be_visible()
    row.click()
    expect(operator.get_by_role("heading", name="A question from an agent")).to_be_visible()
    operator.get_by_role("button", name="Answer").click()
    expect(operator.get_by_role("group", name="audience").get_by_role("alert")).to_be_visible()
    operator.get_by_label("customers").check()
    operator.get_by_label("highlight").fill("too long " * 30)
    operator.get_by_role("button", name="Answer").click()
    field = operator.locator(".field", has=operator.get_by_label("highlight"))
    expect(field.get_by_role("alert")).to_be_visible()
    assert [item["state"] for item in rest.inputs(invocation)] == ["pending"]
    assert rest.invocation(invocation)["status"] == "awaiting-input"


def answer(operator: Page) -> None:
    """Answer as the form wants it."""
    operator.get_by_label("highlight").fill(HIGHLIGHT)
    operator.get_by_role("button", name="Answer").click()
    expect(operator.get_by_text("Answered.")).to_be_visible()


def look_at_what_would_be_written(operator: Page) -> None:
    """Open the call when it arrives, and read what it would change."""
    row = operator.locator("#entries [data-row]", has_text=DELIVERY)
    expect(row).to_contain_text("files_write")
    row.click()
    expect(operator.locator("#changes")).to_contain_text(NOTES)
    expect(operator.locator('.diff [data-sign="+"]', has_text=HIGHLIGHT)).to_be_visible()
    expect(operator.get_by_role("button", name="Approve")).to_be_disabled()
    operator.locator(".runs").get_by_text("Show all").click()
    expect(operator.get_by_role("button", name="Approve")).to_be_enabled()


def kill_and_restart(console: Console, pages: list[Page]) -> None:
    """Kill the server; every page says that it is old, then follows again, and shows what it has missed."""
    console.kill()
    for page in pages:
        expect_lamp(page, "stale")
    console.restart()
    with Rest.of(console.demo, "owner") as rest:
        rest.start("customer-notice", "draft", {"topic": "After the restart"}, "after-the-restart")
    for page in pages:
        expect_lamp(page, "live")
    operator, everything = pages[:2]
    expect(everything.get_by_role("row", name=re.compile("after-the-restart"))).to_be_visible()
    operator.mouse.move(1000, 5)
    expect(operator.locator("#entries [data-row]", has_text="after-the-restart")).to_be_visible()


def approve(operator: Page) -> None:
    """Approve the call, and see what came of it on the same page."""
    operator.get_by_role("button", name="Approve").click()
    expect(operator.get_by_text("Decided.")).to_be_visible()
    expect(operator.locator("#just-done")).to_contain_text("Executed")


def expect_result(watching: Watching) -> None:
    """Expect the result that the schema asks for, and the new status wherever it is shown."""
    for page in (watching.timeline, watching.transcript, watching.journal):
        expect(page.locator(".inv-head [data-status]")).to_have_text("Completed")
        expect(page.locator("#ending")).to_contain_text(NOTES)
    row = watching.everything.get_by_role("row", name=re.compile(DELIVERY))
    expect(row.locator("[data-status]")).to_have_text("Completed")


def retire(owner: Page) -> None:
    """Retire the delivery, once with a wrong identity and once with its own."""
    owner.reload()
    owner.get_by_role("link", name=DELIVERY).click()
    owner.get_by_role("link", name="Retire").click()
    owner.get_by_label("Authorization").fill("ticket 17")
    owner.get_by_label("Type the identity").fill("harbour-2.4.1")
    owner.get_by_role("button", name="Retire for good").click()
    expect(owner.get_by_role("alert")).to_be_visible()
    owner.get_by_label("Type the identity").fill(DELIVERY)
    owner.get_by_role("button", name="Retire for good").click()
    expect(owner).to_have_url(re.compile("/tombstones/"))


def verify_what_is_left(auditor: Page) -> None:
    """Find the tombstone, and check every chain."""
    auditor.get_by_role("navigation", name="Main").get_by_role("link", name="Tombstones").click()
    auditor.get_by_role("link", name=DELIVERY).click()
    expect(auditor.locator(".facts", has_text="Retired by")).to_contain_text("user:owner")
    auditor.get_by_role("link", name="Verify").click()
    expect(auditor.get_by_role("status").filter(has_text="The chain is intact")).to_be_visible()
