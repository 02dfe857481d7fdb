"""The families of the managed invocation contract that concern providers, over their real wires (reference: seed-contracts 18).

Each case runs on every provider; where families meet none, the index of families says why.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connections

from lifecycle_core.application import cancellations, queries, work
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.testing.answers import Answer, Hold, Refusal, Reply, Stream
from tests.lifecycle_core.engine import managed as m
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.managed import Managed
from tests.lifecycle_core.engine.world import World, ask, call, calls, complete

pytestmark = pytest.mark.django_db

WAIT: Final = 60
SHARED: Final = '{ scope = "data-bound", isolation = "shared", source = "customer" }'


def code(world: World, invocation: UUID) -> str:
    return str(world.disposition(invocation)["code"])


# 2, 3, 4, 6, 7, 8: how a turn ends.


@m.everywhere
def test_output_and_an_ended_turn_are_no_completion(world: World, agent: Managed) -> None:
    invocation = agent.run(Answer(text="I am done."))
    assert (world.status(invocation), code(world, invocation)) == (
        "invalid",
        "TURN_ENDED_WITHOUT_DISPOSITION",
    )
    assert [lease.released for lease in world.leases] == [1]


@m.everywhere
def test_one_structured_completion_is_completed_and_its_result_returned(world: World, agent: Managed) -> None:
    invocation = agent.run(calls(call(w.LOOK, n=1)), complete({"ok": [1, "two"]}))
    assert world.status(invocation) == "completed"
    assert world.disposition(invocation)["result"] == {"ok": [1, "two"]}
    assert world.tools[w.LOOK].arguments == [{"n": 1}]
    [request, *_] = agent.server.received
    given = request.headers.get("x-api-key") or request.headers["authorization"].removeprefix("Bearer ")
    assert given == w.SECRET


@m.everywhere
def test_two_completions_are_a_duplicate_completion(world: World, agent: Managed) -> None:
    done = call("workflow_complete", result={"ok": True})
    invocation = agent.run(calls(done, call("workflow_complete", result={"ok": False})))
    assert code(world, invocation) == "DUPLICATE_COMPLETION"


@m.everywhere
@pytest.mark.parametrize("first", ["completion", "question"])
def test_completion_and_pending_in_either_order_are_pending_input_at_completion(
    world: World, agent: Managed, first: str
) -> None:
    said = [call("workflow_complete", result={"ok": True}), ask()]
    invocation = agent.run(calls(*(said if first == "completion" else reversed(said))))
    assert (world.status(invocation), code(world, invocation)) == ("invalid", "PENDING_INPUT_AT_COMPLETION")
    assert world.item(invocation).open_requests == []


@m.everywhere
def test_two_pending_requests_are_a_failure_of_the_protocol(world: World, agent: Managed) -> None:
    invocation = agent.run(calls(ask("a"), ask("b")))
    assert (world.status(invocation), code(world, invocation)) == ("failed", "PROVIDER_PROTOCOL_ERROR")


@m.everywhere
def test_a_schema_invalid_result_is_result_schema_invalid(world: World, agent: Managed) -> None:
    schema = '{ type = "object", required = ["ok"], properties = { ok = { type = "boolean" } } }'
    agent.apply(result_schema=schema)
    invocation = agent.run(complete({"ok": "yes"}))
    assert (world.status(invocation), code(world, invocation)) == ("invalid", "RESULT_SCHEMA_INVALID")


# 10 and 23: secrets.


@m.everywhere
def test_a_failed_turn_whose_words_hold_the_secret_shows_redacted(world: World, agent: Managed) -> None:
    invocation = agent.run(lambda request: Refusal(status=400, message=f"no {w.SECRET} here"))
    assert (world.status(invocation), code(world, invocation)) == ("failed", "PROVIDER_PROTOCOL_ERROR")
    assert "[REDACTED]" in world.disposition(invocation)["detail"]
    assert w.SECRET not in repr(world.events(invocation))


@m.everywhere
def test_the_secret_is_absent_from_all_that_is_kept_and_redacted_is_present(
    world: World, agent: Managed
) -> None:
    invocation = agent.run(
        calls(ask(prompt=f"Is {w.SECRET} right?"), text=f"The key is {w.SECRET}."),
        complete({"ok": f"{w.SECRET}"}),
    )
    assert world.inputs(invocation, state=None) == [], (
        "a question with the secret in it is refused as it came"
    )
    world.settle()
    record = world.store.load(invocation)
    kept = (world.events(invocation), world.store.messages(w.TENANT, record.affinity), world.item(invocation))
    assert w.SECRET not in repr(kept)
    assert "[REDACTED]" in repr(kept)
    natively = [path.read_bytes() for path in agent.folder.rglob("*") if path.is_file()]
    assert not any(w.SECRET.encode() in content for content in natively)


# 13: what is not there.


@m.everywhere
def test_a_lease_failure_opens_nothing(world: World, agent: Managed) -> None:
    world.lease_fails = True
    invocation = agent.run(complete())
    assert (code(world, invocation), agent.provider.opened) == ("CREDENTIAL_UNAVAILABLE", 0)
    assert list(agent.server.received) == []


# 14 and 15: exact sessions.


@m.everywhere
def test_an_awaiting_turn_is_resumed_in_its_session_and_completed_with_a_receipt(
    world: World, agent: Managed
) -> None:
    invocation = agent.run(calls(ask("which")), complete())
    assert world.status(invocation) == w.AWAITING
    session = world.store.load(invocation).session
    world.answer(world.input(invocation), "blue")
    world.settle()
    assert world.status(invocation) == "completed"
    assert agent.asked == (1, 1)
    [restored] = world.of_kind(invocation, "session.restored")
    assert (restored["opaque_identity"], restored["generation"]) == (session, 2)
    receipts: Any = world.disposition(invocation)["interactionReceipts"]
    assert [receipt["requestIdentity"] for receipt in receipts] == ["which"]
    assert [lease.released for lease in world.leases] == [1, 1]
    assert "blue" in agent.server.received[-1].body.decode()


@m.everywhere
def test_a_restore_that_fails_is_unknown_and_never_a_fresh_session(world: World, agent: Managed) -> None:
    invocation = agent.run(calls(ask()), complete())
    agent.lose()
    world.answer(world.input(invocation), "blue")
    world.settle()
    assert (world.status(invocation), world.disposition(invocation)["reason"]) == (
        "unknown",
        "CHILD_UNREACHABLE",
    )
    assert agent.asked == (1, 1)
    assert [lease.released for lease in world.leases] == [1, 1]


# 18: shared affinity.


@m.everywhere
def test_an_affinity_shared_across_episodes_is_opened_once_and_restored_once(
    world: World, agent: Managed
) -> None:
    agent.apply(session=SHARED)
    given: dict[str, Any] = {"input": {"customer": 7}, "delivery": "d1"}
    first, second = agent.run(complete(), **given), agent.run(complete(), **given)
    assert world.status(first) == world.status(second) == "completed"
    assert agent.asked == (1, 1)
    assert world.store.load(first).session == world.store.load(second).session


# 19: cancelling while it runs.


@contextmanager
def driving(invocation: UUID, interruption: Interruption) -> Iterator[None]:
    """Drive an invocation in a thread of its own, and see it end."""

    def run() -> None:
        try:
            work.drive(invocation, "w1", interruption)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join(WAIT)
    assert not thread.is_alive()


@m.everywhere
@pytest.mark.django_db(transaction=True)
def test_a_cancel_during_a_running_turn_is_provider_cancelled_and_inspected_as_stopped(
    world: World, agent: Managed
) -> None:
    hold = Hold()
    invocation = world.start(lambda request: Stream([hold]), delivery="d1")
    interruption = Interruption()
    with driving(invocation, interruption):
        assert hold.reached.wait(WAIT)
        cancellations.cancel(w.BOB, invocation)
        work.watch({invocation: interruption}, "w1", renew=True)
        assert interruption.reason == "cancelled"
    hold.released.set()
    assert (world.status(invocation), code(world, invocation)) == ("cancelled", "PROVIDER_CANCELLED")
    assert "invocation.completed" not in world.kinds(invocation)
    [delivery] = queries.deliveries(w.ANN).items
    assert delivery.process == "stopped"
    assert [lease.released for lease in world.leases] == [1]


# 20: the capability.


@m.everywhere
def test_a_request_without_the_capability_is_a_failure_of_the_protocol(world: World, agent: Managed) -> None:
    agent.apply(capabilities='["structured-completion"]')
    invocation = agent.run(calls(ask()))
    assert (world.status(invocation), code(world, invocation)) == ("failed", "PROVIDER_PROTOCOL_ERROR")
    assert "action-interaction" in world.disposition(invocation)["detail"]


# The wire itself: what passes is asked again.


@m.everywhere
def test_a_model_that_is_busy_once_is_asked_again(world: World, agent: Managed) -> None:
    replies: Iterator[Reply] = iter([Refusal(status=503, message="busy", retry_after="1"), complete()])
    invocation = world.start(lambda request: next(replies))
    pauses = w.Pauses(world)
    world.drive(invocation, interruption=pauses)
    assert world.status(invocation) == "completed"
    [failed] = world.of_kind(invocation, "model.failed")
    assert (failed["code"], failed["retry_after_ms"], failed["retried"]) == ("SERVER", 1_000, True)
    assert len(pauses.waited) == 1


# The grace: a session that is costly to restore is not, where people are quick.


@m.needs_harness
def test_a_harness_whose_question_is_answered_in_time_runs_on_in_one_process(
    world: World, tmp_path: Path
) -> None:
    with m.managed(world, m.Harness(grace_ms=20_000), tmp_path) as agent:
        invocation = world.start(calls(call(w.SEND, to="x")), complete())
        pauses = w.Pauses(world, lambda: world.decide(world.approval(invocation)))
        world.drive(invocation, interruption=pauses)
        assert world.status(invocation) == "completed"
        assert (agent.provider.opened, agent.provider.restored, len(pauses.waited)) == (1, 0, 1)
        assert world.tools[w.SEND].arguments == [{"to": "x"}]
