"""The ground on which processes are killed, and a summary of how many moments were tried."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import trials

TRIED: dict[str, tuple[int, float]] = {}
"""How many points were tried and how long that took, by what was tried."""

POINTS: list[str] = []
"""Every point that was tried: where it died, where its recovery died, how it ended."""


@pytest.fixture(scope="session")
def zygotes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, trials.Zygote]]:
    """Keep one zygote for each database; they last as long as the tests."""
    started: dict[str, trials.Zygote] = {}
    yield started
    for zygote in started.values():
        zygote.close()


@pytest.fixture
def ground(
    zygotes: dict[str, trials.Zygote],
    child_environment: dict[str, str],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[trials.Ground]:
    """Give a place for trials: on SQLite files of its own, on PostgreSQL the test database."""
    url = child_environment.get("LIFECYCLE_DATABASE_URL", "")
    if url not in zygotes:
        zygotes[url] = trials.Zygote(tmp_path_factory.mktemp("zygote"), child_environment)
    with trials.ground(zygotes[url], tmp_path) as ground:
        yield ground


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the points that were tried, and how many there were of each run."""
    for line in POINTS:
        terminalreporter.write_line(line)
    for name, (points, seconds) in TRIED.items():
        terminalreporter.write_line(f"kill -9 at {points} points of {name}: {seconds:.1f} s")
