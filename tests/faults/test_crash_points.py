"""Kill the serving work at every commit, dispatch and step of the demo's runs, and let people go on."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.db import connection

from lifecycle_core.access import roles
from lifecycle_core.engine.services import Timing
from lifecycle_core.testing import scenarios
from tests.faults import conftest, incarnation, invariants, people, variants
from tests.faults.trials import KILLED, Ground, Trial

SAMPLED = {"sqlite": 3, "postgresql": 21}  # every so many points; odd, so that before and after take turns
SET_UP = {"sqlite": 9, "postgresql": 27}
SECOND = 4  # so often, the recovery is killed too
HOUR_MS = 3_600_000
SPREAD = 7  # so the points of the recoveries are met in no order, and all in the end


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
    """Add a line to the list of points: where it died, where the recovery died, how it ended."""
    died = " / ".join(points[-1] for life in range(len(trial.lives) - 1) if (points := trial.points(life)))
    ended = [row["status"] for row in trial.final.invocations] if trial.final else []
    line = f"{scenario:18} {point:3} {died}: {', '.join(ended)}, {len(trial.posts)} posts {found or ''}"
    conftest.POINTS.append(line.rstrip())


def runs() -> Iterator[Any]:
    """Give the runs of the demo, and for the long form those in which people say something else."""
    for name in people.SCENARIOS:
        yield name if name in people.DEMO else pytest.param(name, marks=pytest.mark.soak)


@pytest.fixture(params=runs())
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
    kill_everywhere(ground, scenario, reference, step=every(SAMPLED), again=now_and_then)


@pytest.mark.soak
def test_a_kill_at_any_point_and_in_the_recovery_loses_nothing_and_repeats_nothing(
    ground: Ground, scenario: str, reference: Trial
) -> None:
    again = in_thirds if connection.vendor == "sqlite" else somewhere
    kill_everywhere(ground, scenario, reference, step=1, again=again)


type Again = Callable[[int, Trial], Iterable[int]]
"""Say at which of its points the recovery is killed, too, after a kill at a point."""


def in_thirds(point: int, trial: Trial) -> Iterable[int]:
    """Choose every third point, beginning with another one each time."""
    return range(1 + point % 3, len(trial.points(1)) + 1, 3)


def somewhere(point: int, trial: Trial) -> Iterable[int]:
    """Choose one point, each time another one; a recovery that had nothing left to do has none."""
    count = len(trial.points(1))
    return [1 + point * SPREAD % count] if count else []


def now_and_then(point: int, trial: Trial) -> Iterable[int]:
    """Choose one point, and only some of the times."""
    return somewhere(point, trial) if point // every(SAMPLED) % SECOND == 0 else []


def kill_everywhere(ground: Ground, scenario: str, reference: Trial, *, step: int, again: Again) -> None:
    """Kill at points that are `step` apart, and at points of the recoveries."""
    wrong: list[str] = []
    tried, started = 0, time.monotonic()
    for point, once in trials_at(ground, scenario, step):
        twice = (ground.trial(scenario, [point, second]) for second in again(point, once))
        for trial in itertools.chain([once], twice):
            found = invariants.problems(trial, reference)
            report(scenario, point, trial, found)
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


def test_a_run_has_the_same_points_however_slow_the_model_is(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = ground.trial("status-post").points()
    monkeypatch.setattr(ground.model, "pace", Timing().output_interval_ms / 1000)
    assert ground.trial("status-post").points() == points


def test_a_time_that_runs_out_while_nothing_serves_denies_once(ground: Ground) -> None:
    points = ground.trial("status-post").points()
    waits = 1 + next(i for i, what in enumerate(points) if what.startswith("after") and "suspended" in what)
    for stop in itertools.count(1):
        trial = ground.trial("status-post", [waits, stop], away_ms=[0, 25 * HOUR_MS, 26 * HOUR_MS])
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


def test_a_demo_that_is_killed_while_it_is_set_up_is_set_up_by_the_next_start(ground: Ground) -> None:
    kill_set_up(ground, every(SET_UP))


@pytest.mark.soak
def test_a_demo_that_is_killed_at_any_point_of_its_set_up_is_set_up_by_the_next_start(ground: Ground) -> None:
    kill_set_up(ground, 1)


def kill_set_up(ground: Ground, step: int) -> None:
    """Kill the first start of a demo at points that are `step` apart, and start it again."""
    wrong: list[str] = []
    tried, started = 0, time.monotonic()
    for point, trial in trials_at(ground, incarnation.SET_UP, step):
        found = set_up_wrongly(trial)
        report("set-up", point, trial, found)
        tried, wrong = tried + 1, wrong + found
    conftest.TRIED[f"the set-up of the demo ({connection.vendor})"] = tried, time.monotonic() - started
    assert wrong == []


def set_up_wrongly(trial: Trial) -> list[str]:
    """Say what is missing after the set-up of a demo, or is there twice."""
    if trial.final is None:
        return [trial.log]
    [done] = [line for line in trial.lives[-1] if line["kind"] == "set up"]
    files = {name.removeprefix("demo/") for name in trial.all_files if name.startswith("demo/")}
    expected = {
        "people": (sorted(done["people"]), sorted(roles.PERMISSIONS)),
        "callers": (sorted(done["callers"]), sorted(f"token:demo-{role}" for role in roles.PERMISSIONS)),
        "runs": (sorted(row["agent"] for row in trial.final.invocations), sorted(people.DEMO)),
        "files": (files, set(scenarios.demo_files())),
    }
    return [f"{name} are {is_} and not {wanted}" for name, (is_, wanted) in expected.items() if is_ != wanted]
