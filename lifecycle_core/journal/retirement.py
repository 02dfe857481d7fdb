"""Retire a delivery: in one transaction everything of it goes, and a tombstone remains (reference: seed-contracts 9).

The tombstone takes the delivery's identity in the database, so that a repeated retirement finds it.
"""

import json
from collections import Counter
from typing import Final, NamedTuple
from uuid import UUID

from lifecycle_core.contract import digests, errors, events
from lifecycle_core.contract.status import Status
from lifecycle_core.journal import commands, feed_head
from lifecycle_core.journal.sql import Run, Statement, as_uuid

# No more than admission takes: a transition that stores something of the delivery looks at its key when it commits, and this
# transaction may be waiting for that transition's invocation.
HOLD: Final = Statement(
    "SELECT identity, manifest_binding, activation_binding FROM journal_delivery"
    " WHERE id = %s AND tenant = %s FOR NO KEY UPDATE"
)
TOMBSTONE: Final = Statement('SELECT "authorization" FROM journal_tombstone WHERE id = %s AND tenant = %s')
INVOCATIONS: Final = Statement(
    "SELECT id, status, version, chain_head, open_requests FROM journal_invocation"
    " WHERE delivery_id = %s ORDER BY id FOR UPDATE"
)
OF_DELIVERY: Final = "invocation_id IN (SELECT id FROM journal_invocation WHERE delivery_id = %s)"
OF_APPROVAL: Final = f"approval_id IN (SELECT id FROM journal_approval WHERE {OF_DELIVERY})"  # noqa: S608
DECISIONS: Final = Statement(
    f"SELECT decision, digest FROM journal_decision WHERE {OF_APPROVAL} ORDER BY digest"  # noqa: S608
)
OF_SESSION: Final = "session_id IN (SELECT id FROM journal_session WHERE delivery_id = %s)"
COMMAND_OF_DELIVERY: Final = (
    "EXISTS (SELECT 1 FROM journal_commanddelivery AS d WHERE d.delivery_id = %s AND d.tenant = journal_commandrow.tenant"
    " AND d.actor = journal_commandrow.actor AND d.key = journal_commandrow.key)"
)
BURY: Final = Statement(
    'INSERT INTO journal_tombstone (id, tenant, delivery, "authorization", fact, retired_by, retired_at, invocations,'
    " events, closed_requests, decisions, decision_hashes, chain_heads)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
FORGET: Final = tuple(
    Statement(f"DELETE FROM {table} WHERE {condition}")  # noqa: S608
    for table, condition in (
        ("journal_decision", OF_APPROVAL),
        ("journal_approval", OF_DELIVERY),
        ("journal_inputrequest", OF_DELIVERY),
        ("journal_toolcall", OF_DELIVERY),
        ("journal_event", OF_DELIVERY),
        ("journal_dispatchrow", OF_DELIVERY),
        ("journal_sessionmessage", OF_SESSION),
        ("journal_session", "delivery_id = %s"),
        ("journal_blob", "delivery_id = %s"),
        ("journal_commandrow", COMMAND_OF_DELIVERY),
        ("journal_commanddelivery", "delivery_id = %s"),
        ("journal_invocation", "delivery_id = %s"),
        ("journal_delivery", "id = %s"),
    )
)
BUSY: Final = frozenset({Status.STARTING, Status.RUNNING, Status.UNKNOWN})


class Order(NamedTuple):
    """Who retires which delivery with what authorization; a binding that is given must be the delivery's."""

    tenant: str
    delivery: UUID
    authorization: str
    by: str
    at_ms: int
    manifest_binding: str | None
    activation_binding: str | None


def retire(run: Run, order: Order) -> int | None:
    """Carry an order out; returns the feed position of the fact, or nothing when it was carried out before.

    Raises `errors.NotFound`, `errors.RetirementNotAuthorized` and `errors.DeliveryBusy`.
    """
    row = run(HOLD, (order.delivery, order.tenant)).fetchone()
    if row is None:
        _check_repeated(run, order)
        return None
    identity, *bindings = row
    wanted = (order.manifest_binding, order.activation_binding)
    if any(want is not None and want != have for want, have in zip(wanted, bindings, strict=True)):
        raise errors.RetirementNotAuthorized
    _bury(run, order, identity)
    for statement in FORGET:
        run(statement, (order.delivery,))
    commands.forget(order.delivery)
    fact = events.DeliveryRetired(delivery=identity, tombstone=str(order.delivery), by=order.by)
    return feed_head.add_fact(run, order.tenant, fact, actor=order.by, at_ms=order.at_ms)


def _check_repeated(run: Run, order: Order) -> None:
    """Accept the same authorization again, and no other."""
    row = run(TOMBSTONE, (order.delivery, order.tenant)).fetchone()
    if row is None:
        raise errors.NotFound
    if row[0] != order.authorization:
        raise errors.RetirementNotAuthorized


def _bury(run: Run, order: Order, identity: str) -> None:
    """Write down what remains, while it is still there to be counted."""
    rows = run(INVOCATIONS, (order.delivery,)).fetchall()
    if any(status in BUSY for _, status, *_ in rows):
        raise errors.DeliveryBusy
    decisions = run(DECISIONS, (order.delivery,)).fetchall()
    heads = {str(as_uuid(invocation)): head for invocation, _, _, head, _ in rows}
    fact = {"owner": "invocation", "authorization": order.authorization, "state": "retired"}
    who = (order.delivery, order.tenant, identity, order.authorization, _text(fact), order.by, order.at_ms)
    counts = (len(rows), sum(row[2] for row in rows), sum(row[4] for row in rows))
    kinds, hashes = Counter(kind for kind, _ in decisions), [digest for _, digest in decisions]
    run(BURY, (*who, *counts, _text(kinds), _text(hashes), _text(heads)))


def _text(value: object) -> str:
    return digests.canonical(json.loads(json.dumps(value))).decode()
