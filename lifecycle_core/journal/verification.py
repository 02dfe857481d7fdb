"""Check what is stored against its hashes: journals in the database, or lines of an export without one.

A broken event is named and hides nothing else: after it the check goes on from the hash that is stored.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Sum

from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal import blobs, chain, sql
from lifecycle_core.journal.models import Event, FeedHead, Tombstone

CHUNK: Final = 500
WORST: Final = 100
JOURNALS: Final = (
    "SELECT i.id, i.version, i.chain_head, i.delivery_id, e.tenant, e.seq, e.position, e.kind, e.at, e.actor, e.payload,"
    " e.hash FROM journal_invocation AS i LEFT JOIN journal_event AS e ON e.invocation_id = i.id"
    " WHERE i.tenant = %s AND (%s OR i.id = %s) ORDER BY i.id, e.seq"
)
FACTS: Final = (
    "SELECT tenant, seq, position, kind, at, actor, payload, hash FROM journal_event"
    " WHERE tenant = %s AND invocation_id IS NULL ORDER BY seq"
)
NOBODY: Final = UUID(int=0)


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a check found. `broken` is the first broken event by position, `problems` the first hundred."""

    events: int
    invocations: int
    problems: tuple[Mapping[str, Json], ...] = ()

    @property
    def intact(self) -> bool:
        return not self.problems

    @property
    def broken(self) -> Mapping[str, Json] | None:
        return min(
            self.problems, key=lambda problem: (problem["position"] or 0, problem["seq"]), default=None
        )


class Stored(NamedTuple):
    """An event as it was read, with its payload as text."""

    tenant: str
    seq: int
    position: int
    kind: str
    at: int
    actor: str
    payload: str
    hash: str


@dataclass(kw_only=True)
class Checker:
    """Follow chains event by event and collect what does not fit."""

    events: int = 0
    invocations: int = 0
    problems: list[Mapping[str, Json]] = field(default_factory=list)

    def follow(
        self, of: str, rows: Iterable[Stored], content: Callable[[str], bytes], *, tenant: str
    ) -> tuple[int, str, int]:
        """Check one journal from its origin; returns the seq, hash and position at which it ends."""
        seq, head, position = 0, chain.origin(of), 0
        for row in rows:
            self.events += 1
            if why := self._fault(of, row, seq, head, position, content) or _stranger(row, tenant):
                self.report(of, row.seq, row.position, why)
            seq, head, position = row.seq, row.hash, row.position
        return seq, head, position

    def end(self, of: str, at: tuple[int, str, int], seq: int, head: str) -> None:
        """Check that a journal ends where its row says."""
        if at[0] != seq:
            self.report(of, min(at[0], seq) + 1, None, f"the journal has {at[0]} events, its head says {seq}")
        elif at[1] != head:
            self.report(of, seq, at[2], "the journal does not end with the hash of its head")

    def report(self, of: str, seq: int, position: int | None, why: str) -> None:
        """Note a problem."""
        if len(self.problems) < WORST:
            self.problems.append({"invocation": of, "seq": seq, "position": position, "why": why})

    def _fault(
        self, of: str, row: Stored, seq: int, head: str, position: int, content: Callable[[str], bytes]
    ) -> str | None:
        if row.seq != seq + 1:
            return f"event {seq + 1} is missing" if row.seq > seq + 1 else "there are two events of this seq"
        if row.position <= position:
            return "its position lies before that of the event it follows"
        try:
            fits = chain.Journal(of, row.actor).link(head, row.seq, row.kind, row.at, content(row.payload))
        except (errors.Refused, ValueError, AttributeError, TypeError) as cause:
            return f"its content cannot be read: {cause}"
        return None if fits == row.hash else "it does not fit its hash"

    def result(self) -> Verification:
        """Return what was found."""
        return Verification(events=self.events, invocations=self.invocations, problems=tuple(self.problems))


def verify(tenant: str, invocation: UUID | None = None) -> Verification:
    """Check one journal, or all of a tenant's with its own facts and the length of its feed."""
    checker = Checker()
    parameters = (tenant, invocation is None, (invocation or NOBODY))
    for of, group in groupby(_stream(JOURNALS, parameters), key=itemgetter(0)):
        first = next(group)
        rows = (Stored(*row[4:]) for row in _chained(first, group) if row[5] is not None)
        identity, content = str(sql.as_uuid(of)), _content(first[3])
        checker.end(identity, checker.follow(identity, rows, content, tenant=tenant), first[1], first[2])
        checker.invocations += 1
    if invocation is None:
        _verify_tenant(checker, tenant)
    return checker.result()


def verify_export(lines: Iterable[str]) -> Verification:
    """Check the lines of an export, journal by journal, with nothing but the lines. Cut tails need a head to compare with."""
    checker = Checker()
    parsed = (json.loads(line) for line in lines)
    for of, group in groupby(parsed, key=itemgetter("invocation")):
        checker.invocations += 1
        checker.follow(of, (_exported(line) for line in group), str.encode, tenant="")
    return checker.result()


def _verify_tenant(checker: Checker, tenant: str) -> None:
    """Check the tenant's own facts, and that no event is missing that was not retired."""
    head = FeedHead.objects.filter(tenant=tenant).first() or FeedHead(tenant=tenant, n=0)
    of = chain.of_tenant(tenant)
    rows = (Stored(*row) for row in _stream(FACTS, (tenant,)))
    ended = checker.follow(of, rows, str.encode, tenant=tenant)
    checker.end(of, ended, head.seq, head.chain_head or chain.origin(of))
    retired = Tombstone.objects.filter(tenant=tenant).aggregate(n=Sum("events"))["n"] or 0
    stored = Event.objects.filter(tenant=tenant).count()
    if head.n != stored + retired:
        why = f"the feed has {stored} events and {retired} retired ones, its head says {head.n}"
        checker.report(of, 0, head.n, why)


def _stream(query: str, parameters: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield rows as they are read; one statement, so one state of the database."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(query, parameters)
        while rows := cursor.fetchmany(CHUNK):
            yield from rows


def _chained(first: tuple[Any, ...], rest: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    yield first
    yield from rest


def _content(delivery: UUID | str) -> Callable[[str], bytes]:
    """Return how to get the canonical payload of a stored one, with its blobs put back."""
    load = blobs.loader(sql.runner(connection), delivery)

    def content(payload: str) -> bytes:
        if '"$blob"' not in payload and '"$literal"' not in payload:
            return payload.encode()
        return digests.canonical(blobs.unfold_payload(payload, load))

    return content


def _exported(line: dict[str, Any]) -> Stored:
    payload = digests.canonical(line["payload"]).decode()
    seq, position, kind, at, actor = (line[name] for name in ("seq", "position", "kind", "at", "actor"))
    return Stored("", seq, position, kind, at, actor, payload, line["hash"])


def _stranger(row: Stored, tenant: str) -> str | None:
    return None if row.tenant == tenant else "it belongs to another tenant"
