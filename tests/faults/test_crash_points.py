"""Kill the serving work at every commit, dispatch and step of the demo's runs, and let people go on."""

import itertools
import time
from collections.abc import Iterator

import pytest
from django.db import connection

from tests.faults import conftest, invariants, people, variants
from tests.faults.trials import KILLED, Ground, Trial

SAMPLED = {"sqlite": 1, "postgresql": 4}  # every so many points of the short form
SECOND = {"sqlite": 4, "postgresql": 8}  # every so many points, the recovery is killed too
HOUR_MS = 3_600_000
SPREAD = 7  # coprime with the number of points, so that the points of recoveries are all met in the end


def every(points: dict[str, int]) -> int:
    """Return how far apart the points of the short form lie on the database of this run."""
    return points[connection.vendor]


def trials_at(ground: Ground, scenario: str, step: int) -> Iterator[tuple[int, Trial]]:
    """Kill at one point after the other until a run passes without reaching the next one."""
    for point in itertools.count(1, step):
        trial = ground.trial(scenario, [point])
        if trial.exits[0] != KILLED:
            assert trial.exits == [0], trial.log
            return
        yield point, trial


def report(scenario: str, point: int, trial: Trial, found: list[str]) -> None:
    """Print one line of the list of points: where it died, where the recovery died, how it ended."""
    died = " / ".join(points[-1] for life in range(len(trial.lives) - 1) if (points := trial.points(life)))
    ended = [row["status"] for row in trial.final.invocations] if trial.final else []
    print(  # noqa: T201
        f"{scenario:18} {point:3} {died}: {', '.join(ended)}, {len(trial.posts)} posts {found or ''}"
    )


@pytest.fixture(params=sorted(people.SCENARIOS))
def scenario(request: pytest.FixtureRequest) -> str:
    """Name one of the demo's runs after the other."""
    return str(request.param)


@pytest.fixture
def reference(ground: Ground, scenario: str) -> Trial:
    """Run a scenario in which nothing dies."""
    trial = ground.trial(scenario)
    assert invariants.problems(trial) == []
    return trial


def test_a_kill_at_any_point_loses_nothing_and_repeats_nothing(
    ground: Ground, scenario: str, reference: Trial
) -> None:
    kill_everywhere(ground, scenario, reference, step=every(SAMPLED), second=every(SECOND))


@pytest.mark.soak
def test_a_kill_at_any_point_and_at_any_point_of_the_recovery_loses_and_repeats_nothing(
    ground: Ground, scenario: str, reference: Trial
) -> None:
    kill_everywhere(ground, scenario, reference, step=1, second=1)


def kill_everywhere(ground: Ground, scenario: str, reference: Trial, *, step: int, second: int) -> None:
    """Kill at points, `step` apart; at every `second` of them the recovery is killed too."""
    wrong: list[str] = []
    tried, started = 0, time.monotonic()
    for point, trial in trials_at(ground, scenario, step):
        found = invariants.problems(trial, reference)
        report(scenario, point, trial, found)
        tried, wrong = tried + 1, wrong + found
        if tried % second == 0:
            again = ground.trial(scenario, [point, 1 + point * SPREAD % len(trial.points(1))])
            found = invariants.problems(again, reference)
            report(scenario, point, again, found)
            tried, wrong = tried + 1, wrong + found
    conftest.TRIED[f"{scenario} ({connection.vendor})"] = tried, time.monotonic() - started
    assert wrong == []


# By variant: where it is tried, from which dispatch on, and what the checks must say.
CONTROLS = {
    "intent with outcome": ("status-post", "http_request", "dispatched 1 times under 0 intents"),
    "unsafe repeated": ("status-post", "http_request", "http_request was dispatched 2 times"),
    "reconcilable repeated": ("release-notes", "files_write", "put into its place more than once"),
    "answered before durable": ("status-post", "http_request", "lost: people were told that decide"),
}


def test_every_variant_is_a_control() -> None:
    assert set(CONTROLS) == set(variants.VARIANTS) - {""}


@pytest.mark.parametrize("variant", CONTROLS)
def test_a_defence_that_is_taken_away_is_missed(ground: Ground, variant: str) -> None:
    scenario, tool, seen = CONTROLS[variant]
    trial = ground.trial(scenario, variant=variant)
    found = invariants.problems(trial)
    dispatch = f"before the dispatch of {tool}"
    for point, what in enumerate(trial.points(), 1):
        if any(seen in problem for problem in found):
            break
        if what == dispatch or dispatch in trial.points()[:point]:
            found += invariants.problems(ground.trial(scenario, [point], variant))
    assert any(seen in problem for problem in found), found


def test_a_time_that_runs_out_while_nothing_serves_denies_once(ground: Ground) -> None:
    points = ground.trial("status-post").points()
    waits = 1 + next(i for i, what in enumerate(points) if what.startswith("after") and "suspended" in what)
    for stop in itertools.count(1):
        trial = ground.trial("status-post", [waits, stop], away_ms=[0, 25 * HOUR_MS, 25 * HOUR_MS])
        assert trial.final is not None, trial.log
        [approval] = trial.final.approvals
        [invocation] = trial.final.invocations
        outcomes = [event["payload"]["outcome"] for event in trial.final.of_kind("tool.completed")]
        assert len(trial.final.of_kind("approval.expired")) == 1
        assert (approval["state"], invocation["status"]) == ("expired", "completed")
        assert outcomes == ["executed", "expired", "executed"]
        assert trial.posts == []
        if trial.exits[1] != KILLED:
            break
