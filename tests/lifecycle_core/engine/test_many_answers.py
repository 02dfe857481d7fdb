"""Four processes answer one question at once, and all of them drive what there is: one answer counts, and the turn runs once.

The turn of the source runs twice here (reference: seed-contracts 19.1).
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, cast
from uuid import UUID

import pytest

from lifecycle_core.journal import verification
from lifecycle_core.journal.models import InputRequest
from tests.harness.demo import ROOT
from tests.lifecycle_core.engine import answering
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db(transaction=True)

THREADS: Final = 5


class Answerers:
    """The other processes."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.lifecycle_core.engine.answering"],
            cwd=ROOT,
            env={**environ, "DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> Any:
        """Wait for a line."""
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def answer(
        self, world: World, invocation: UUID, *, each: int, blind: bool = False
    ) -> list[dict[str, Any]]:
        """Let every process answer at once; returns what came of it in each."""
        asked = world.input(invocation).id
        script = dict(cast("dict[str, str]", world.item(invocation).input))["script"]
        line = {"input": asked, "script": script, "threads": THREADS, "each": each, "blind": blind}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        return list(self.hear())

    def close(self) -> None:
        """End them."""
        self._process.communicate()


@pytest.fixture
def answerers(child_environment: dict[str, str]) -> Iterator[Answerers]:
    answerers = Answerers(child_environment)
    try:
        assert answerers.hear() == {"ready": True}
        yield answerers
    finally:
        answerers.close()


def asking(world: World) -> UUID:
    """Return an invocation that waits for an answer; whoever is told goes on with a call."""
    return world.run(calls(ask()), calls(call(w.LOOK)), complete())


@pytest.mark.parametrize(
    "answers", [pytest.param(100, id="100"), pytest.param(1000, id="1000", marks=pytest.mark.soak)]
)
def test_of_many_answers_from_four_processes_one_counts_and_the_turn_runs_once(
    world: World, answerers: Answerers, answers: int
) -> None:
    invocation = asking(world)
    rounds = answerers.answer(world, invocation, each=answers // len(answering.NAMES) // THREADS)
    told = sum((Counter(each["told"]) for each in rounds), Counter[str]())
    winner = InputRequest.objects.get(invocation=invocation)
    assert told == {"": 1, f"answered by {winner.closed_by}": answers - 1}
    assert winner.answer == json.dumps(winner.closed_by)
    assert world.status(invocation) == "completed"
    kinds = Counter(world.kinds(invocation))
    assert (kinds["input.answered"], kinds["invocation.resumed"], kinds["tool.intended"]) == (1, 1, 1)
    assert (sum(each["ran"] for each in rounds), sum(each["asked_model"] for each in rounds)) == (1, 2)
    assert verification.verify(w.TENANT).intact

    # The control: it is the comparison in the write that decides, and not the look before it.
    rounds = answerers.answer(world, asking(world), each=1, blind=True)
    assert sum(each["told"].get("", 0) for each in rounds) > 1, rounds
