"""Two processes decide the same approvals at the same time: one over REST, one by the application's function."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from lifecycle_core.testing.answers import Hold
from lifecycle_core.testing.http_sink import HttpSink
from tests.faults import consoles
from tests.faults.consoles import Console, Item
from tests.harness import demo as demos

APPROVALS = 9
ORDERS = ("decider first", "REST first", "REST between the decider's look and its write")


class Decider:
    """The other process."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.decider"],
            cwd=demos.ROOT,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.hear()

    def say(self, line: str) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Wait for a line."""
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture
def sink() -> Iterator[HttpSink]:
    with HttpSink() as sink:
        yield sink


@pytest.fixture
def environ(child_environment: dict[str, str], sink: HttpSink) -> dict[str, str]:
    return consoles.environment(child_environment, sink)


@pytest.fixture
def console(tmp_path: Path, environ: dict[str, str], sink: HttpSink) -> Iterator[Console]:
    """Run a console whose agents post to the sink."""
    with consoles.closing(Console.start(tmp_path / "data", environ)) as console:
        consoles.post_outside(tmp_path / "data", environ, sink)
        yield console
        console.stop()


@pytest.fixture
def other(
    console: Console, tmp_path: Path, environ: dict[str, str], child_environment: dict[str, str]
) -> Iterator[Decider]:
    """Run the other process on the console's database."""
    own = {"LIFECYCLE_DATA": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "console.settings"}
    other = Decider({**child_environment, **environ, **own})
    yield other
    other.close()


def asked(console: Console, sink: HttpSink, numbers: Iterable[int]) -> list[Item]:
    """Start runs that post to the outside, and return their approvals once all wait."""
    started = {console.start_post(sink.url, number)["id"] for number in numbers}

    def look() -> list[Item] | None:
        waiting = [item for item in console.waiting() if item["invocation"] in started]
        return waiting if len(waiting) == len(started) else None

    return console.until(look)


def both(
    console: Console, other: Decider, approval: Item, order: str, *, blind: bool = False
) -> tuple[httpx.Response, dict[str, Any]]:
    """Let REST approve and the other process reject, at once."""
    pause = order == ORDERS[2]
    line = {"approval": approval["id"], "request_digest": approval["request_digest"]}
    line |= {"pause": pause, "blind": blind}
    with ThreadPoolExecutor(1) as pool:
        if order == ORDERS[1]:
            posted = pool.submit(console.decide, approval)
            other.say(json.dumps(line))
        else:
            other.say(json.dumps(line))
            if pause:
                assert other.hear() == {"paused": True}
            posted = pool.submit(console.decide, approval)
        if pause:
            posted.result()
            other.say("")
        return posted.result(), other.hear()


def wrong(item: Item, over_rest: httpx.Response, by_function: dict[str, Any]) -> list[str]:
    """Say what is wrong with how two decisions on one approval ended; `item` is the approval afterwards."""
    if len(item["decisions"]) != 1:
        return [f"there are {len(item['decisions'])} decisions"]
    [made] = item["decisions"]
    won = [over_rest.status_code == 200, "decisions" in by_function]
    if sum(won) != 1:
        return [f"{sum(won)} of the two were told that they decided"]
    winner = ("token:demo-operator", "approve") if won[0] else ("user:second", "reject")
    problem = by_function.get("problem", {}) if won[0] else over_rest.json()
    state = {"approve": "approved", "reject": "rejected"}[made["decision"]]
    told = {"by": made["by"], "at": made["at"], "decision": state}
    found = []
    if (made["by"], made["decision"]) != winner:
        found.append(f"{made['by']} decided to {made['decision']}, {winner} was told so")
    if (problem.get("status"), problem.get("code"), problem.get("decided")) != (409, "ALREADY_DECIDED", told):
        found.append(f"the other was not told who and when: {problem or by_function}")
    return found


def test_of_two_processes_exactly_one_decides_and_without_the_comparison_both_do(
    console: Console, other: Decider, sink: HttpSink
) -> None:
    problems, approved = [], 0
    for number, approval in enumerate(asked(console, sink, range(APPROVALS))):
        over_rest, by_function = both(console, other, approval, ORDERS[number % len(ORDERS)])
        item = console.get(f"approvals/{approval['id']}")
        problems += wrong(item, over_rest, by_function)
        approved += item["decisions"][0]["decision"] == "approve"
        console.ended(approval["invocation"])
    assert problems == []
    assert len(sink.posts) == approved >= APPROVALS // len(ORDERS)

    sink.hold = Hold()  # so that the run is still there to be decided on
    [approval] = asked(console, sink, [APPROVALS])
    over_rest, by_function = both(console, other, approval, ORDERS[2], blind=True)
    found = wrong(console.get(f"approvals/{approval['id']}"), over_rest, by_function)
    sink.hold.released.set()
    assert found == ["there are 2 decisions"], (over_rest.json(), by_function)
