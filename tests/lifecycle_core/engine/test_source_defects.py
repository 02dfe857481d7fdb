"""What the source does wrong and we do not (reference: seed-contracts 19): where each is tested, or the test itself."""

import importlib
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import deliveries, queries
from lifecycle_core.contract import ports
from lifecycle_core.journal import commands
from lifecycle_core.journal.models import Delivery, DispatchRow, Tombstone
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import NativeProvider, World, ask, call, calls, complete, emitting

pytestmark = pytest.mark.django_db

HERE: Final = "engine.test_source_defects"
SESSIONS: Final = "engine.test_managed_invocation_sessions"
CONTROL: Final = "engine.test_managed_invocation_control"
RECOVERY: Final = "engine.test_recovery"
LOST: Final = "workers.test_lost_leases"
PERSIST: Final = "engine.test_persistence_fails"

# What to do instead, and the tests that hold us to it: a module below `tests.lifecycle_core` and a name.
INSTEAD: Final[dict[int, tuple[str, list[tuple[str, str]]]]] = {
    1: (
        "a transition reports whether this call made it, so the turn runs once",
        [
            (
                "engine.test_many_answers",
                "test_of_many_answers_from_four_processes_one_counts_and_the_turn_runs_once",
            ),
            ("journal.test_races", "test_one_of_many_claims_gets_the_lease"),
        ],
    ),
    2: (
        "whatever goes wrong after an answer is written as unknown, as after a start",
        [(SESSIONS, "test_a_session_that_cannot_be_restored_makes_the_invocation_unknown")],
    ),
    3: (
        "dead leases are found at the start and by a sweep; only an open intent of unknown outcome makes unknown",
        [
            (
                RECOVERY,
                "test_leases_of_a_process_that_is_gone_are_void_at_once_where_only_one_process_serves",
            ),
            (RECOVERY, "test_a_call_that_was_sent_and_may_not_be_repeated_makes_the_invocation_unknown"),
            (LOST, "test_a_dead_lease_is_found_without_any_hint"),
        ],
    ),
    4: (
        "what is returned is what is stored: unknown",
        [(SESSIONS, "test_a_shared_session_that_cannot_be_restored_is_never_replaced_by_a_fresh_one")],
    ),
    5: (
        "a failing credential lease undoes no cancellation",
        [(HERE, "test_a_cancel_while_the_credential_is_being_leased_is_not_lost")],
    ),
    6: (
        "a cancel that arrives before the session is opened keeps it from being opened",
        [
            (HERE, "test_a_cancel_that_comes_before_the_session_is_opened_opens_nothing"),
            ("engine.test_cancel", "test_a_worker_that_looked_before_the_cancel_opens_nothing"),
        ],
    ),
    7: (
        "starts are serialised for each affinity, and it is bound in the transaction that makes them running",
        [
            (SESSIONS, "test_two_episodes_that_start_in_one_new_session_at_once_open_it_once"),
            ("journal.test_races", "test_a_session_is_bound_by_one_of_two"),
            ("journal.test_sessions", "test_an_opened_session_is_bound_with_the_transition"),
        ],
    ),
    11: (
        "retirement is one transaction with its tombstone",
        [(HERE, "test_a_retirement_that_dies_in_the_middle_has_not_begun_and_can_be_repeated")],
    ),
    12: (
        "what starts, runs or is unknown is not retired; what waits is, and its closed questions are counted",
        [
            (CONTROL, "test_what_starts_or_is_unknown_is_not_retired"),
            (HERE, "test_a_retirement_over_open_questions_says_so"),
        ],
    ),
    14: (
        "a corrupt record is one corrupt record",
        [(HERE, "test_a_corrupt_record_keeps_nobody_from_listing_cancelling_and_retiring")],
    ),
    15: (
        "an isolated session is nobody else's, whatever its data",
        [(HERE, "test_an_isolated_session_is_not_shared_though_the_data_are_the_same")],
    ),
    16: (
        "a commit is made from the expected status alone",
        [
            ("journal.test_store", "test_a_change_from_another_status_is_refused_with_the_status"),
            ("journal.test_store", "test_nothing_leaves_an_end_but_late_facts_are_kept"),
            (LOST, "test_a_live_holder_that_lost_its_lease_stops_and_its_late_result_is_kept_and_ignored"),
        ],
    ),
    18: (
        "what was consumed stays when something after it cannot be written",
        [
            (PERSIST, "test_whatever_could_not_be_written_the_run_goes_on_from_what_was"),
            ("engine.test_provider_reports", "test_an_uncertain_end_keeps_what_was_consumed"),
        ],
    ),
    19: (
        "the answer of a cancel tells how it is afterwards",
        [(HERE, "test_the_answer_of_a_cancel_tells_how_it_is_afterwards")],
    ),
    20: (
        "a retired delivery is not started again",
        [(CONTROL, "test_a_retired_delivery_is_not_started_again")],
    ),
    21: (
        "no write creates anything, so nothing retired comes back",
        [
            (LOST, "test_what_a_holder_delivers_after_its_delivery_is_retired_changes_nothing"),
            ("journal.test_retirement", "test_nothing_late_revives_a_retired_invocation"),
        ],
    ),
    22: (
        "another session than the one asked for is disposed of, on every path",
        [
            (SESSIONS, "test_another_session_than_the_one_asked_for_is_disposed_of_and_never_run"),
            (SESSIONS, "test_another_shared_session_than_the_bound_one_is_disposed_of_and_never_run"),
        ],
    ),
}


@pytest.mark.parametrize("row", INSTEAD)
def test_each_defect_has_a_test_where_it_says(row: int) -> None:
    for module, name in INSTEAD[row][1]:
        found = importlib.import_module(f"tests.lifecycle_core.{module}")
        assert callable(getattr(found, name, None)), f"{module} has no {name}"


def delivery_of(world: World, invocation: UUID) -> UUID:
    return UUID(world.item(invocation).delivery_id)


def cancel(world: World, invocation: UUID) -> None:
    deliveries.cancel(w.ANN, delivery_of(world, invocation))


# 5 and 6


def leasing(world: World, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Let something happen while the credential is being leased."""
    lease = world._lease

    def late(tenant: str, agent: Any) -> Any:
        meanwhile()
        return lease(tenant, agent)

    object.__setattr__(world.services, "lease", late)


def test_a_cancel_while_the_credential_is_being_leased_is_not_lost(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.lease_fails = True
    invocation = world.start(complete())
    leasing(world, monkeypatch, lambda: cancel(world, invocation))
    assert world.drive(invocation) == "cancelled"
    assert world.disposition(invocation)["code"] == "PROVIDER_CANCELLED"
    assert "invocation.failed" not in world.kinds(invocation)


def test_a_cancel_that_comes_before_the_session_is_opened_opens_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = world.providers["chat-completions"] = NativeProvider([emitting()])
    invocation = world.start()
    leasing(world, monkeypatch, lambda: cancel(world, invocation))
    assert world.drive(invocation) == "cancelled"
    assert provider.opened == []
    assert [lease.released for lease in world.leases] == [1]


# 11 and 12


def test_a_retirement_that_dies_in_the_middle_has_not_begun_and_can_be_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    invocation = world.run(complete())
    delivery, before = delivery_of(world, invocation), world.item(invocation)

    def die(delivery: UUID) -> None:
        raise w.Killed

    with monkeypatch.context() as patch:
        patch.setattr(commands, "forget", die)
        with pytest.raises(w.Killed):
            deliveries.retire(w.ANN, delivery, authorization="a")
    assert world.item(invocation) == before
    assert not Tombstone.objects.exists()
    deliveries.retire(w.ANN, delivery, authorization="a")
    assert Tombstone.objects.exists()
    assert not Delivery.objects.exists()


def test_a_retirement_over_open_questions_says_so(world: World) -> None:
    invocation = world.run(calls(ask(), call(w.SEND)))
    deliveries.retire(w.ANN, delivery_of(world, invocation), authorization="a")
    assert Tombstone.objects.get().closed_requests == 2


# 14


def test_a_corrupt_record_keeps_nobody_from_listing_cancelling_and_retiring(world: World) -> None:
    corrupt, fellow = (world.start(complete(), delivery="d1") for _ in range(2))
    other = world.run(complete(), delivery="d2")
    DispatchRow.objects.filter(pk=corrupt).update(body="{")
    assert len(queries.invocations(w.ANN).items) == 3
    assert {item.identity for item in queries.deliveries(w.ANN).items} == {"d1", "d2"}
    deliveries.retire(w.ANN, delivery_of(world, other), authorization="a")
    cancel(world, fellow)
    assert (world.status(corrupt), world.status(fellow)) == ("cancelled", "cancelled")
    deliveries.retire(w.ANN, delivery_of(world, fellow), authorization="a")
    assert queries.deliveries(w.ANN).items == []


# 15


def test_an_isolated_session_is_not_shared_though_the_data_are_the_same(world: World) -> None:
    world.apply("worker", session='{ scope = "data-bound", isolation = "isolated", source = "customer" }')
    provider = world.providers["chat-completions"] = NativeProvider(
        [emitting(ports.StructuredCompletion(result={"ok": True}))]
    )
    given: dict[str, Any] = {"input": {"customer": 7}, "delivery": "d1"}
    first, second = world.run(**given), world.run(**given)
    assert (len(provider.opened), provider.restored) == (2, [])
    assert world.store.load(first).affinity != world.store.load(second).affinity
    assert world.status(second) == "completed"


# 19


def test_the_answer_of_a_cancel_tells_how_it_is_afterwards(world: World) -> None:
    ended = world.run(complete(), delivery="d1")
    waiting, starting = world.run(calls(ask()), delivery="d1"), world.start(complete(), delivery="d1")
    answer = deliveries.cancel(w.ANN, delivery_of(world, ended))
    assert {UUID(item.id): item.status for item in answer.invocations} == {
        ended: "completed",
        waiting: "cancelled",
        starting: "cancelled",
    }
    assert answer == queries.delivery(w.ANN, delivery_of(world, ended))
    assert answer.process == "terminal"
    assert all(item.open_requests == [] for item in answer.invocations)
