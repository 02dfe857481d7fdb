"""An agent on the real harness in the whole core: the journal, the gates and people of the product, a scripted model."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from lifecycle_core.application import bootstrap, cancellations, deliveries, sessions, work
from lifecycle_core.contract import ports
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.engine.services import Timing
from lifecycle_core.providers.dsh import provider
from lifecycle_core.providers.dsh.storage import Storage
from lifecycle_core.testing.model_server import ModelServer
from tests.lifecycle_core.engine.world import ANN, SECRET, Killed, World, ask, call, calls, complete
from tests.lifecycle_core.providers.dsh.conftest import UNPACKED, needs_harness

pytestmark = needs_harness


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[World]:
    """Return a core whose agent runs in the harness, and that keeps what belongs to it in a folder of its own."""
    made = World(Timing())
    made.install(monkeypatch)
    storage = folder / "whole"
    monkeypatch.setattr(bootstrap, "native_sessions", lambda: Storage(storage))
    # No grace: the time of this core stands still.
    headless = provider.create(provider.Configuration(storage=storage, unpacked=UNPACKED, grace_ms=0))
    made.providers[provider.KEY] = headless
    with ModelServer(made._script, secret=SECRET) as server:
        made.apply("harnessed", provider=f'"{provider.KEY}"', base_url=f'"{server.base_url}"')
        yield made
    headless.dispose()


def test_an_agent_in_the_harness_asks_is_approved_completes_and_is_retired_with_its_session(
    world: World, django_capture_on_commit_callbacks: Any
) -> None:
    invocation = world.run(
        calls(call("look", n=1), call("send", to="you"), text="I act."), complete(), agent="harnessed"
    )
    assert world.status(invocation) == "awaiting-input"
    assert world.tools["look"].arguments == [{"n": 1}]
    assert world.tools["send"].arguments == []
    world.decide(world.approval(invocation))
    world.settle()
    assert world.status(invocation) == "completed"
    assert world.tools["send"].arguments == [{"to": "you"}]
    assert {outcome for outcome, _ in world.results(invocation).values()} == {"executed"}
    opened, restored = (
        world.of_kind(invocation, "session.opened"),
        world.of_kind(invocation, "session.restored"),
    )
    assert [event["opaque_identity"] for event in restored] == [event["opaque_identity"] for event in opened]
    assert all(lease.released for lease in world.leases)
    native = bootstrap.native_sessions()
    sessions.forget_retired()
    assert len(native.files()) == 1
    with django_capture_on_commit_callbacks(execute=True):
        deliveries.retire(ANN, UUID(world.item(invocation).delivery_id), authorization="ticket 1")
    assert not native.files()
    assert not list(native.root.glob("[0-9a-f]*"))
    # A crash right after the retirement would leave it to the next start.
    native.home("default", "retired").mkdir()
    sessions.forget_retired()
    assert not list(native.root.glob("[0-9a-f]*"))


def test_an_agent_in_the_harness_asks_people_and_is_answered(world: World) -> None:
    invocation = world.run(calls(ask("q1", "Which?")), complete(), agent="harnessed")
    assert world.status(invocation) == "awaiting-input"
    world.answer(world.input(invocation), "this one")
    world.settle()
    assert world.status(invocation) == "completed"
    ((_, told), _) = world.results(invocation).values()
    assert "this one" in str(told)


@pytest.mark.parametrize("at", ["initialize", "resume_session"])
@pytest.mark.parametrize(
    ("reason", "ends"), [("cancelled", "PROVIDER_CANCELLED"), ("time-limit", "PROVIDER_TIMED_OUT")]
)
def test_a_harness_that_is_waited_for_is_killed_when_its_turn_must_stop(
    world: World, monkeypatch: pytest.MonkeyPatch, at: str, reason: str, ends: str
) -> None:
    from lifecycle_core.providers.dsh import harness  # Only where the extra is installed.

    answer, interruption, processes = getattr(harness._Client, at), Interruption(), []

    def stop_meanwhile(client: Any, *given: Any, **options: Any) -> Any:
        processes.append(client._proc)
        if reason == "cancelled":
            cancellations.cancel(ANN, invocation)
        else:
            assert interruption.deadline_ms is not None
            world.clock.passed = interruption.deadline_ms + 1
        work.watch({invocation: interruption}, "w1", renew=True)
        return answer(client, *given, **options)

    invocation = world.start(calls(ask("q1", "Which?")), complete(), agent="harnessed")
    if at == "resume_session":
        world.drive(invocation)
        world.answer(world.input(invocation), "this one")
    monkeypatch.setattr(harness._Client, at, stop_meanwhile)
    world.drive(invocation, interruption=interruption)
    assert interruption.reason == reason
    assert world.disposition(invocation)["code"] == ends
    assert [process.poll() for process in processes] == [-signal.SIGKILL]
    assert {lease.released for lease in world.leases} == {1}
    assert work.claimable(10) == []


def test_a_worker_that_dies_in_a_turn_of_the_harness_leaves_a_session_that_goes_on(world: World) -> None:
    def dies_at_the_second_request(change: ports.Change) -> None:
        kinds = [type(event).__name__ for event in change.events]
        if "ModelRequested" in kinds and world.tools["look"].ran:
            raise Killed

    invocation = world.start(calls(call("look", n=1)), complete(), agent="harnessed")
    world.store.before = dies_at_the_second_request
    world.kill(invocation)
    world.store.before = lambda change: None
    world.settle()
    assert world.status(invocation) == "completed"
    # What was not noted yet runs again, as the same call, and the model is told once what became of it.
    assert len({by for by, _ in world.tools["look"].ran}) == 1
    assert [event["model_turn"] for event in world.of_kind(invocation, "model.responded")] == [1, 2]
