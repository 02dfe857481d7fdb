"""Whatever is done to stored events behind the store's back is found, and named."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from lifecycle_core.journal import chain, models, verification
from lifecycle_core.journal.store import Store
from tests.harness import reset
from tests.lifecycle_core.journal import making

type Line = dict[str, object]


@contextmanager
def behind_the_walls() -> Iterator[Callable[[str], None]]:
    """Do what only somebody with the database in his hands can do."""

    def run(statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    with reset.walls_down(connection):
        yield run


@pytest.mark.django_db
def test_what_the_store_wrote_is_intact(store: Store) -> None:
    making.running(store).end()
    making.running(store).ask("c1")
    found = verification.verify(making.TENANT)
    assert found.intact
    assert (found.invocations, found.events, found.broken) == (2, 11, None)


@pytest.mark.django_db
def test_an_empty_tenant_is_intact() -> None:
    assert verification.verify("nobody").intact


@pytest.mark.django_db
def test_large_and_special_values_are_part_of_the_chain(store: Store) -> None:
    run = making.running(store)
    special: dict[str, Any] = {"$literal": 1}
    run.append(making.output(1, "x" * 100_000), making.requested("c1", **special))
    assert verification.verify(making.TENANT).intact
    with behind_the_walls() as do:
        do("UPDATE journal_blob SET content = content || content")
    broken = verification.verify(making.TENANT, run.id).broken
    assert broken is not None
    assert broken["seq"] == 5


@pytest.mark.django_db
def test_retired_events_are_not_missing(store: Store) -> None:
    making.running(store)
    gone = making.running(store)
    gone.end()
    gone.retire()
    assert verification.verify(making.TENANT).intact


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("what", "seq", "why"),
    [
        ("UPDATE journal_event SET payload = '{}' WHERE seq = 2", 2, "fit"),
        ("UPDATE journal_event SET payload = 'no json' WHERE seq = 2", 2, "fit"),
        ("UPDATE journal_event SET actor = 'user:eve' WHERE seq = 3", 3, "fit"),
        ("UPDATE journal_event SET at = at + 1 WHERE seq = 3", 3, "fit"),
        ("UPDATE journal_event SET kind = 'late.result' WHERE seq = 4", 4, "fit"),
        ("DELETE FROM journal_event WHERE seq = 2", 3, "missing"),
        ("DELETE FROM journal_event WHERE seq = 1", 2, "missing"),
        ("DELETE FROM journal_event WHERE seq = 4", 4, "head"),
        ("DELETE FROM journal_event", 1, "head"),
        ("UPDATE journal_event SET position = position + 10 WHERE seq = 2", 3, "before"),
        ("UPDATE journal_event SET tenant = 'other' WHERE seq = 4", 4, "tenant"),
        ("UPDATE journal_invocation SET version = version + 1", 5, "head"),
    ],
)
def test_a_change_is_found_and_named(store: Store, what: str, seq: int, why: str) -> None:
    run = making.running(store)
    with behind_the_walls() as do:
        do(what)
    broken = verification.verify(making.TENANT, run.id).broken
    assert broken is not None
    assert (broken["invocation"], broken["seq"]) == (str(run.id), seq)
    assert why in str(broken["why"])


@pytest.mark.django_db
def test_a_broken_event_hides_no_other(store: Store) -> None:
    first, second = making.running(store), making.running(store)
    with behind_the_walls() as do:
        do("UPDATE journal_event SET actor = 'user:eve' WHERE seq IN (2, 4)")
    found = verification.verify(making.TENANT)
    assert found.events == 8
    assert {(problem["invocation"], problem["seq"]) for problem in found.problems} == {
        (str(run.id), seq) for run in (first, second) for seq in (2, 4)
    }
    assert found.broken is not None
    assert found.broken["position"] == 2


@pytest.mark.django_db
def test_a_journal_that_is_gone_altogether_is_missed(store: Store) -> None:
    run = making.running(store)
    making.running(store)
    with behind_the_walls() as do:
        for table in ("event", "dispatchrow", "session", "invocation"):
            column = {"invocation": "id", "session": "affinity"}.get(table, "invocation_id")
            key = run.affinity if table == "session" else identity(run)
            do(f"DELETE FROM journal_{table} WHERE {column} = '{key}'")
    broken = verification.verify(making.TENANT).broken
    assert broken is not None
    assert broken["invocation"] == chain.of_tenant(making.TENANT)


@pytest.mark.django_db
def test_a_forged_retirement_does_not_fit_the_tenants_own_facts(store: Store) -> None:
    run = making.running(store)
    run.end()
    run.retire()
    with behind_the_walls() as do:
        do("UPDATE journal_event SET actor = 'user:eve'")
    broken = verification.verify(making.TENANT).broken
    assert broken is not None
    assert broken["invocation"] == chain.of_tenant(making.TENANT)


@pytest.mark.django_db
def test_three_hundred_random_mutations_of_an_export_are_all_found(store: Store) -> None:
    for _ in range(3):
        making.running(store).ask("c1", to="ann")
    lines = exported()
    assert verification.verify_export(map(json.dumps, lines)).intact
    dice = random.Random(7)
    for _ in range(300):
        kind, changed = mutated(lines, dice)
        assert not verification.verify_export(map(json.dumps, changed)).intact, kind


def test_the_canonical_record_is_what_the_whole_event_would_give() -> None:
    from lifecycle_core.contract import digests

    event = {
        "actor": 'user:ä"',
        "at": 7,
        "invocation": "i",
        "kind": "k",
        "payload": {"b": [1.5], "a": "\n"},
        "seq": 3,
    }
    parts = chain.Journal("i", 'user:ä"').record(3, "k", 7, digests.canonical(event["payload"]))
    assert parts == digests.canonical(event)


def identity(run: making.Run) -> str:
    return run.id.hex if connection.vendor == "sqlite" else str(run.id)


def exported() -> list[Line]:
    return [
        {
            "invocation": str(event.invocation_id),
            "seq": event.seq,
            "position": event.position,
            "kind": event.kind,
            "at": event.at,
            "actor": event.actor,
            "payload": json.loads(event.payload),
            "hash": event.hash,
        }
        for event in models.Event.objects.order_by("invocation_id", "seq")
    ]


def mutated(lines: list[Line], dice: random.Random) -> tuple[str, list[Line]]:
    """Edit, delete, reorder, insert or swap: one change that is not at a journal's tail."""
    copy = [dict(line) for line in lines]
    inner = [i for i, line in enumerate(copy[:-1]) if copy[i + 1]["invocation"] == line["invocation"]]
    place = dice.choice(inner)
    kind = dice.choice(["edit", "delete", "reorder", "insert", "swap"])
    if kind == "edit":
        field = dice.choice(["seq", "kind", "at", "actor", "payload", "hash"])
        copy[place][field] = {
            "seq": 99,
            "at": int(str(copy[place]["at"])) + 1,
            "payload": {"forged": dice.random()},
            "hash": "0" * 64,
        }.get(field, "forged")
    elif kind == "delete":
        del copy[place]
    elif kind == "reorder":
        copy[place], copy[place + 1] = copy[place + 1], copy[place]
    elif kind == "insert":
        copy.insert(place, dict(copy[place]))
    else:
        other = dice.choice([i for i in inner if copy[i]["invocation"] != copy[place]["invocation"]])
        for field in ("kind", "at", "actor", "payload", "hash"):
            copy[place][field], copy[other][field] = copy[other][field], copy[place][field]
    return kind, copy
