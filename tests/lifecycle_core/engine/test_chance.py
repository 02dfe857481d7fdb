"""Whatever people, workers and time do in whatever order: no effect is lost or run twice, and nothing is left dangling."""

import random
from collections import Counter
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import cancellations, expiry, journals, work
from lifecycle_core.contract import errors, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import EffectClass, ToolContext
from lifecycle_core.contract.status import TERMINAL
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.testing.answers import Answer
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import Killed, World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

STEPS: Final = 60


class Chance:
    """Play one game by a seed."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.dice = random.Random(seed)
        self.deadly = 0.0
        world.tools[w.PUT].found = "truth"
        for tool in world.tools.values():
            tool.act = self._act
        world.store.before = world.store.after = self._commit
        self.started = [world.start(*self._script()) for _ in range(3)]

    def _script(self) -> list[w.Step]:
        turns: list[w.Step] = [self._answer() for _ in range(self.dice.randint(1, 3))]
        return [*turns, complete()]

    def _answer(self) -> Answer:
        made = [
            call(self.dice.choice([w.LOOK, w.COUNT, w.PUT, w.SEND]), n=n)
            for n in range(self.dice.randint(1, 4))
        ]
        if self.dice.random() < 0.4:
            made.insert(self.dice.randint(0, len(made)), ask())
        return calls(*made)

    def _act(self, arguments: dict[str, Json], context: ToolContext) -> Json:
        self._maybe_die()
        if self.dice.random() < 0.05:
            raise ports.ToolError("NO", "not now")
        if self.dice.random() < 0.3:
            self._person()
        return {"done": arguments}

    def _commit(self, change: ports.Change) -> None:
        if change.actor.startswith("agent:"):
            self._maybe_die()

    def _maybe_die(self) -> None:
        if self.dice.random() < self.deadly:
            raise Killed

    def step(self) -> None:
        """Let somebody do something."""
        self.dice.choices([self._work, self._person, self._time], weights=[6, 5, 1])[0]()

    def _work(self) -> None:
        waiting = work.claimable(10)
        if not waiting:
            return
        self.deadly = 0.08
        try:
            work.drive(self.dice.choice(waiting).invocation, f"w{self.dice.randint(1, 3)}", Interruption())
        except Killed:
            pass
        finally:
            self.deadly = 0.0

    def _person(self) -> None:
        deadly, self.deadly = self.deadly, 0.0
        invocation = self.dice.choice(self.started)
        try:
            self.dice.choices([self._decide, self._answer_one, self._cancel], weights=[8, 4, 0.3])[0](
                invocation
            )
        except errors.Refused:
            pass  # Whoever comes late is refused; what matters is what is left.
        finally:
            self.deadly = deadly

    def _decide(self, invocation: UUID) -> None:
        for approval in self.world.approvals(invocation)[:1]:
            decision = self.dice.choice(["approve", "approve", "approve", "reject", "edit", "respond"])
            content: dict[str, dict[str, Any]] = {
                "edit": {"arguments": {"n": 100}},
                "respond": {"result": "by hand"},
            }
            self.world.decide(approval, decision, **content.get(decision, {}))

    def _answer_one(self, invocation: UUID) -> None:
        for asked in self.world.inputs(invocation):
            self.world.answer(asked, "blue")

    def _cancel(self, invocation: UUID) -> None:
        cancellations.cancel(w.BOB, invocation)

    def _time(self) -> None:
        self.world.clock.advance(self.dice.choice([1000, 16_000, 16_000, 24 * 3600 * 1000]))
        expiry.sweep()

    def finish(self) -> None:
        """Let the workers live, and people answer everything, until nothing is left to do."""
        for _ in range(40):
            self.world.die()
            self.world.settle()
            for invocation in self.started:
                for approval in self.world.approvals(invocation):
                    if self.world.status(invocation) != "unknown":
                        self.world.decide(approval)
                if self.world.status(invocation) != "unknown":
                    self._answer_one(invocation)
            if not work.claimable(1):
                return

    def check(self) -> Counter[str]:
        """See that everything is as it must be; returns how the invocations ended."""
        ran = {name: Counter(identity for identity, _ in tool.ran) for name, tool in self.world.tools.items()}
        for invocation in self.started:
            self._check_end(invocation)
            self._check_calls(invocation, ran)
        assert journals.verify(w.ANN).intact
        for chat in self.world.seen:
            w.assert_paired(chat)
        return Counter(self.world.status(invocation) for invocation in self.started)

    def _check_end(self, invocation: UUID) -> None:
        item = self.world.item(invocation)
        assert item.status in {*TERMINAL, "unknown"}
        if item.status in TERMINAL:
            assert item.open_requests == []
        record = self.world.store.load(invocation)
        if item.status == "cancelled":
            # A worker that died over it cannot give its lease up; that only runs out.
            self.world.die()
            assert record.lease_expires_at < self.world.clock.now_ms()
        else:
            assert (record.worker, record.lease_expires_at) == ("", 0)

    def _check_calls(self, invocation: UUID, ran: dict[str, Counter[str]]) -> None:
        status, results = self.world.status(invocation), self.world.results(invocation)
        record = self.world.store.load(invocation)
        for turn in range(1, record.model_turns + 1):
            for made in self.world.store.calls(invocation, turn):
                times = ran.get(made.tool, Counter())[made.id]
                if made.effect_class in (EffectClass.UNSAFE, EffectClass.RECONCILABLE):
                    assert times <= 1, f"{made.tool} ran {times} times"
                if made.outcome in ("executed", "edited"):
                    assert times >= 1 or made.tool.startswith("workflow"), f"{made.tool} never ran"
                if made.outcome in ("denied", "expired", "refused", "answered"):
                    assert times == 0, f"{made.tool} ran although it was {made.outcome}"
                if status == "completed":
                    assert made.call_id in results, "a call has no result"


def play(world: World, seed: int) -> Counter[str]:
    game = Chance(world, seed)
    for _ in range(STEPS):
        game.step()
    game.finish()
    return game.check()


@pytest.mark.parametrize("seed", range(12))
def test_chance_leaves_nothing_lost_doubled_or_dangling(world: World, seed: int) -> None:
    assert sum(play(world, seed).values()) == 3


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_much_chance_leaves_nothing_lost_doubled_or_dangling(world: World, seed: int) -> None:
    assert sum(play(world, seed).values()) == 3
