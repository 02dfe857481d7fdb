"""A running console and browsers to look at it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from lifecycle_core.testing.http_sink import HttpSink
from tests.e2e.figures import Figures
from tests.e2e.people import People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Rest
from tests.harness import browser as browsers
from tests.harness import demo as demos

# Nothing waits longer than it has to; a slow machine is given the time.
expect.set_options(timeout=15_000)

figures_key = pytest.StashKey[Figures]()


def pytest_configure(config: pytest.Config) -> None:
    """Begin the list of what is measured."""
    config.stash[figures_key] = Figures()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was measured, also when everything passes."""
    if lines := config.stash[figures_key].lines():
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> Figures:
    """Take what a test measures; it is printed at the end and never asserted."""
    return pytestconfig.stash[figures_key]


@pytest.fixture(scope="session")
def sink() -> Iterator[HttpSink]:
    """Run an endpoint that takes what is posted to it and never answers, so that nobody knows whether it happened."""
    with HttpSink(mode="drop") as sink:
        yield sink


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, sink: HttpSink) -> Iterator[demos.Demo]:
    """Run one demo for all journeys."""
    environ = {"LIFECYCLE_HTTP_ORIGINS": sink.origin}
    with demos.running(tmp_path_factory.mktemp("demo") / "data", environ=environ) as demo:
        yield demo


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run one browser for all journeys; everybody gets a context of his own."""
    with browsers.started() as started:
        yield started


@pytest.fixture(scope="session")
def signed_in(browser: Browser, server: demos.Demo) -> People:
    """Remember who has signed in, for the whole session."""
    return People(browser=browser, demo=server)


@pytest.fixture
def people(signed_in: People) -> Iterator[People]:
    """Open pages as the demo's people; a script error or a refused resource fails the test."""
    yield signed_in
    assert signed_in.leave() == []


@pytest.fixture
def page(people: People) -> Page:
    """Open a page as a stranger."""
    return people.stranger()


@pytest.fixture
def rest(server: demos.Demo) -> Iterator[Rest]:
    """Speak to the console as a program with all rights."""
    with Rest.of(server, "owner") as rest:
        yield rest


@pytest.fixture(scope="session")
def puppet(server: demos.Demo) -> Iterator[Puppet]:
    """Register an agent that makes whatever calls its input names."""
    with Puppet.registered(server) as puppet:
        yield puppet
