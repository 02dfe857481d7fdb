"""Whoever comes at once: one wins, the others are told, and nothing is numbered twice or skipped."""

import functools
import random
import threading
from collections.abc import Callable

import pytest
from django.db import transaction

from lifecycle_core.contract import errors, events, ports
from lifecycle_core.contract.status import Status
from lifecycle_core.journal import feed, models, verification
from lifecycle_core.journal.projections import approvals
from lifecycle_core.journal.sql import Statement
from lifecycle_core.journal.standing import Work
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making, racing

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = ["ann", "bob", "cem", "dee", "eve", "fay", "gus", "hal"]


def deciders(run: making.Run, approval: str) -> list[Callable[[], ports.Appended]]:
    decided = [
        run.decided(approval, ("approve", "reject")[i % 2], by=f"user:{name}")
        for i, name in enumerate(PEOPLE)
    ]
    return [functools.partial(run.append, event) for event in decided]


@pytest.mark.parametrize("round_", range(5))
def test_one_of_many_deciders_wins(store: Store, round_: int) -> None:
    run = making.running(store)
    approval = run.ask("c1")
    results = racing.together(*deciders(run, approval))
    losers = [result for result in results if isinstance(result, errors.AlreadyDecided)]
    assert len(racing.won(results)) == 1
    assert len(losers) == len(PEOPLE) - 1
    winner = models.Approval.objects.get(id=approval)
    assert {(loser.by, loser.state) for loser in losers} == {(winner.closed_by, winner.state)}
    assert models.Decision.objects.count() == 1
    assert models.Event.objects.filter(kind="approval.decided").count() == 1


def test_without_the_comparison_a_later_decision_would_overwrite(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the race is real, and it is the conditional update that decides it."""
    careless = approvals.DECIDED.postgresql.decode().replace(" AND state = 'pending'", "")
    monkeypatch.setattr(approvals, "DECIDED", Statement(careless))
    monkeypatch.setattr(approvals, "DECISION", Statement("SELECT %s, %s, %s, %s, %s, %s"))
    monkeypatch.setattr(Work, "one", lambda work, result: None)
    run = making.running(store)
    results = racing.together(*deciders(run, run.ask("c1")))
    assert len(racing.won(results)) > 1


def test_a_decision_and_a_cancellation_do_not_both_count(store: Store) -> None:
    for _ in range(10):
        run = making.running(store)
        approval = run.ask("c1")
        run.suspend()
        waiting = {Status.AWAITING_INPUT: Status.AWAITING_INPUT}
        cancelled = [
            events.ApprovalCancelled(approval=approval, call="c1", reason="r"),
            events.InvocationCancelled(reason="TIMEOUT", by="user:carl"),
        ]
        decide = functools.partial(run.append, run.decided(approval), to=waiting)
        cancel = functools.partial(run.append, *cancelled, to={Status.AWAITING_INPUT: Status.CANCELLED})
        results = racing.together(decide, cancel)
        assert len(racing.won(results)) == 1
        assert isinstance(
            results[0] if isinstance(results[0], Exception) else results[1], errors.StatusConflict
        )


def test_one_of_many_claims_gets_the_lease(store: Store) -> None:
    made = making.admit(store)

    def claim(worker: str) -> ports.Appended:
        return store.append(
            making.change(
                made.id,
                events.InvocationClaimed(worker=worker, token=1),
                to={Status.STARTING: Status.STARTING},
                claim=ports.Claim(worker=worker, ttl_ms=1000, seen_token=0),
            )
        )

    results = racing.together(*(functools.partial(claim, f"w{i}") for i in range(8)))
    assert len(racing.won(results)) == 1
    assert sum(isinstance(result, errors.LeaseLost) for result in results) == 7
    assert store.load(made.id).token == 1


def test_one_of_many_starts_makes_the_delivery_and_the_episode(store: Store) -> None:
    same = [making.new(making.delivery("d"), identity="i") for _ in range(8)]
    results = racing.together(*(functools.partial(making.admit, store, made) for made in same))
    assert len(racing.won(results)) == 1
    assert sum(isinstance(result, errors.CorrelationMismatch) for result in results) == 7
    assert models.Delivery.objects.count() == 1


def test_many_starts_of_one_new_delivery_all_succeed(store: Store) -> None:
    made = [making.new(making.delivery("d")) for _ in range(8)]
    results = racing.together(*(functools.partial(making.admit, store, one) for one in made))
    assert len(racing.won(results)) == 8
    assert models.Delivery.objects.count() == 1


def test_one_key_has_one_effect_however_many_send_it_at_once(store: Store) -> None:
    run = making.running(store)
    command = ports.Command(key="k", body_digest="sha256:1")

    def send() -> object:
        return store.once(
            making.TENANT,
            "user:ann",
            command,
            lambda: run.append(making.output(1)).position,
            at_ms=making.NOW,
        )

    results = racing.together(*[send] * 8)
    assert len(set(map(str, results))) == 1
    assert models.Event.objects.filter(kind="output.produced").count() == 1


def test_a_command_of_several_transitions_blocks_nobody_for_good(store: Store) -> None:
    """It holds the feed's head after its first transition; who holds the second invocation must not wait for that."""
    first, second = making.running(store), making.running(store)
    second.append(making.output(1))
    models.Invocation.objects.filter(id=second.id).update(delivery=first.delivery)
    command = ports.Command(key="k", body_digest="sha256:1")
    half = threading.Event()

    def both() -> int:
        first.append(making.output(1))
        half.set()
        racing.until_somebody_waits()
        return second.append(making.output(2)).position

    def carry_out() -> object:
        return store.once(making.TENANT, "user:ann", command, both, at_ms=making.NOW)

    def other() -> object:
        half.wait(10)
        return second.append(making.output(3))

    results = racing.together(carry_out, other)
    assert len(racing.won(results)) == 2, results


def test_a_session_is_bound_by_one_of_two(store: Store) -> None:
    delivery, runs = making.delivery(), []
    for _ in range(2):
        made = making.admit(store, making.sharing("shared", delivery))
        runs.append(making.Run(store=store, id=made.id, affinity="shared"))
    results = racing.together(*(run.claim for run in runs))
    assert len(racing.won(results)) == 1
    results = racing.together(*(run.open for run in runs))
    assert len(racing.won(results)) == 1
    assert models.Session.objects.count() == 1


def test_the_same_retirement_twice_cleans_up_once_and_both_get_it(store: Store) -> None:
    run = making.running(store)
    run.end()
    delivery = run.delivery
    retire = functools.partial(store.retire, making.TENANT, delivery, by="user:carl", at_ms=making.LATER)
    results = racing.together(*[functools.partial(retire, authorization="a")] * 4)
    assert results == [delivery] * 4
    assert models.Event.objects.filter(kind="delivery.retired").count() == 1


def test_a_transition_that_commits_while_its_delivery_waits_to_be_retired_is_first(store: Store) -> None:
    """It refers to the delivery when it commits, and the retirement holds that one already."""
    run = making.running(store)
    waiting, delivery = {Status.RUNNING: Status.AWAITING_INPUT}, run.delivery
    begun = threading.Event()

    def suspend() -> object:
        with transaction.atomic():
            suspended = events.TurnSuspended(open=[])
            run.append(suspended, making.output(1, "x" * 100_000), to=waiting)
            begun.set()
            racing.until_somebody_waits()
        return "suspended"

    def retire() -> object:
        begun.wait(10)
        return store.retire(making.TENANT, delivery, authorization="a", by="user:carl", at_ms=making.LATER)

    assert racing.together(suspend, retire) == ["suspended", delivery]


def test_one_of_two_different_retirements_succeeds(store: Store) -> None:
    for _ in range(5):
        run = making.running(store)
        run.end()
        retire = functools.partial(
            store.retire, making.TENANT, run.delivery, by="user:carl", at_ms=making.LATER
        )
        results = racing.together(*(functools.partial(retire, authorization=a) for a in "ab"))
        assert len(racing.won(results)) == 1
        assert sum(isinstance(result, errors.RetirementNotAuthorized) for result in results) == 1


def test_retirement_against_everything_leaves_either_all_or_nothing(store: Store) -> None:
    for _ in range(8):
        run = making.running(store)
        approval = run.ask("c1")
        run.suspend()
        delivery, ref = run.delivery, run.record().delivery
        late = making.new(ref)
        waiting = {Status.AWAITING_INPUT: Status.AWAITING_INPUT}
        racing.together(
            functools.partial(run.append, run.decided(approval), to=waiting),
            functools.partial(making.admit, store, late),
            functools.partial(store.renew, run.id, run.token, 1000, making.NOW),
            functools.partial(
                store.retire, making.TENANT, delivery, authorization="a", by="user:carl", at_ms=making.LATER
            ),
        )
        retired = models.Tombstone.objects.filter(id=delivery).exists()
        assert models.Delivery.objects.filter(id=delivery).exists() is not retired
        assert models.Invocation.objects.filter(id__in=[run.id, late.id]).exists() is not retired
    assert verification.verify(making.TENANT).intact


def test_eight_writers_leave_no_gap_in_any_journal_or_in_the_feed(store: Store) -> None:
    """A follower reads all the while, and one commit in a hundred is rolled back."""
    runs = [making.running(store) for _ in range(8)]
    start = feed.head(making.TENANT)[1]

    def write(place: int) -> int:
        dice, committed = random.Random(place), 0
        for i in range(60):
            with transaction.atomic():
                # Half of the time everybody writes to the same journal.
                run = runs[place] if dice.random() < 0.5 else runs[0]
                run.store.append(making.change(run.id, making.output(i), making.output(i)))
                if dice.random() < 0.01:
                    transaction.set_rollback(True)
                else:
                    committed += 2
        return committed

    follower = Follower(start)
    results = racing.together(*(functools.partial(write, i) for i in range(8)), follower.follow)
    written = sum(count for count in results[:8] if isinstance(count, int))
    assert written > 900
    head = feed.head(making.TENANT)[1]
    assert head == start + written
    follower.catch_up()
    assert follower.seen == list(range(start + 1, head + 1))
    assert verification.verify(making.TENANT).intact


class Follower:
    """Read the feed from a cursor, like a socket does."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.seen: list[int] = []

    def follow(self) -> int:
        for _ in range(300):
            self.catch_up()
        return len(self.seen)

    def catch_up(self) -> None:
        while frames := feed.read(making.TENANT, None, self.position, 50).frames:
            self.seen += [frame.event.position for frame in frames]
            self.position = self.seen[-1]


DECIDING = """
import uuid
from lifecycle_core.contract import errors
from lifecycle_core.journal.standing import Work
from lifecycle_core.journal.store import Store
from tests.lifecycle_core.journal import making

_, run, who, *pairs = sys.argv
run = making.Run(store=Store(), id=uuid.UUID(run))
run.calls = dict(pair.split("=") for pair in pairs)
wins = 0
for approval in run.calls:
    try:
        run.append(run.decided(approval, by=who))
        wins += 1
    except errors.AlreadyDecided:
        pass
print(wins)
"""


def test_two_processes_decide_each_request_once(store: Store, child_environment: dict[str, str]) -> None:
    run = making.running(store)
    approvals = [run.ask(f"c{i}") for i in range(20)]
    pairs = [f"{approval}={run.calls[approval]}" for approval in approvals]
    children = [
        racing.Child(DECIDING, child_environment, str(run.id), name, *pairs) for name in ("ann", "bob")
    ]
    for child in children:
        child.go()
    wins = [int(child.said()[0]) for child in children]
    assert sum(wins) == 20
    assert models.Decision.objects.count() == 20
    assert verification.verify(making.TENANT).intact
