"""The end of a tenant's feed: where events get their positions. Its row is the last lock of every transaction."""

import functools
import itertools
from typing import Final
from uuid import UUID, uuid4

from lifecycle_core.contract import digests
from lifecycle_core.contract.events import Event
from lifecycle_core.journal import chain
from lifecycle_core.journal.sql import Run, Statement

MOVE: Final = Statement("UPDATE journal_feedhead SET n = n + %s WHERE tenant = %s RETURNING n")
BEGIN: Final = Statement(
    "INSERT INTO journal_feedhead (tenant, n, epoch, seq, chain_head) VALUES (%s, 0, %s, 0, %s) ON CONFLICT DO NOTHING"
)
WHERE: Final = Statement("SELECT n FROM journal_feedhead WHERE tenant = %s")
FACTS: Final = Statement("SELECT seq, chain_head FROM journal_feedhead WHERE tenant = %s")
ADD_FACT: Final = Statement("UPDATE journal_feedhead SET seq = %s, chain_head = %s WHERE tenant = %s")

# Databases limit how many values a statement may bind.
BATCH: Final = 500

type EventRow = tuple[str, UUID | None, int, str, int, str, str, str]
"""Tenant, invocation, seq, kind, at, actor, stored payload and hash of an event that has no position yet."""


def add(run: Run, rows: list[EventRow]) -> int:
    """Insert events of one tenant in their order at the end of its feed; returns the position of the last."""
    last = _move(run, rows[0][0], len(rows))
    placed = [(*row, place) for place, row in enumerate(rows, last - len(rows) + 1)]
    for batch in itertools.batched(placed, BATCH, strict=False):
        run(_insertion(len(batch)), list(itertools.chain.from_iterable(batch)))
    return last


def add_fact(run: Run, tenant: str, fact: Event, *, actor: str, at_ms: int) -> int:
    """Insert a fact that belongs to no invocation, linked to the tenant's own chain; returns its position.

    Such facts are small: their payloads are stored as they are.
    """
    last = _move(run, tenant, 1)
    seq, head = run(FACTS, (tenant,)).fetchone()
    seq, payload = seq + 1, digests.canonical(fact.payload())
    head = chain.Journal(chain.of_tenant(tenant), actor).link(head, seq, fact.kind, at_ms, payload)
    run(ADD_FACT, (seq, head, tenant))
    run(_insertion(1), (tenant, None, seq, fact.kind, at_ms, actor, payload.decode(), head, last))
    return last


def position(run: Run, tenant: str) -> int:
    """Return the position of the last event of a tenant, for a hint that comes with none."""
    row = run(WHERE, (tenant,)).fetchone()
    return row[0] if row else 0


def _move(run: Run, tenant: str, count: int) -> int:
    """Move the head on, which stays locked to the commit."""
    row = run(MOVE, (count, tenant)).fetchone()
    if row is None:
        run(BEGIN, (tenant, uuid4().hex, chain.origin(chain.of_tenant(tenant))))
        row = run(MOVE, (count, tenant)).fetchone()
    position: int = row[0]
    return position


@functools.cache
def _insertion(count: int) -> Statement:
    values = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s, %s)"] * count)
    columns = "tenant, invocation_id, seq, kind, at, actor, payload, hash, position"
    return Statement(f"INSERT INTO journal_event ({columns}) VALUES {values}")  # noqa: S608
