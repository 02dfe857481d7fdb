"""Create and hold deliveries: a row that admission and retirement both lock, so that one of them comes first."""

from typing import Final
from uuid import UUID, uuid4

from lifecycle_core.contract import errors, ports
from lifecycle_core.journal.sql import Run, Statement, as_uuid

CREATE: Final = Statement(
    "INSERT INTO journal_delivery (id, tenant, identity, manifest_binding, activation_binding, requester, created_at)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
)
HOLD: Final = Statement(
    "SELECT id, manifest_binding, activation_binding FROM journal_delivery"
    " WHERE tenant = %s AND identity = %s FOR NO KEY UPDATE"
)
DELIVERY_OF: Final = "(SELECT delivery_id FROM journal_invocation WHERE id = %s)"
HOLD_OF: Final = Statement(f"SELECT id FROM journal_delivery WHERE id = {DELIVERY_OF} FOR NO KEY UPDATE")  # noqa: S608
HOLD_INVOCATIONS: Final = Statement(
    f"SELECT id FROM journal_invocation WHERE delivery_id = {DELIVERY_OF} ORDER BY id FOR NO KEY UPDATE"  # noqa: S608
)
SESSION: Final = Statement("SELECT 1 FROM journal_session WHERE tenant = %s AND affinity = %s")
HOLD_ONE: Final = Statement("SELECT id FROM journal_delivery WHERE id = %s FOR NO KEY UPDATE")
HOLD_ALL: Final = Statement(
    "SELECT id FROM journal_invocation WHERE delivery_id = %s ORDER BY id FOR NO KEY UPDATE"
)
RETIRED: Final = Statement("SELECT 1 FROM journal_tombstone WHERE tenant = %s AND delivery = %s")


def hold(run: Run, new: ports.NewInvocation, at_ms: int) -> UUID:
    """Lock a delivery, creating it when it is new, and return its identity in the database.

    Raises `errors.DeliveryRetired`, and for other bindings `errors.DeliveryConflict`, or `errors.SessionAffinityMismatch` where
    the session is known, which belongs to the delivery as it is (reference: seed-contracts 4). The tombstone is looked for once
    the lock is had, for a retirement that came first has left it by then.
    """
    ref = new.delivery
    run(
        CREATE,
        (
            uuid4(),
            new.tenant,
            ref.identity,
            ref.manifest_binding,
            ref.activation_binding,
            new.requester,
            at_ms,
        ),
    )
    row = run(HOLD, (new.tenant, ref.identity)).fetchone()
    if run(RETIRED, (new.tenant, ref.identity)).fetchone():
        raise errors.DeliveryRetired
    if (row[1], row[2]) != (ref.manifest_binding, ref.activation_binding):
        known = run(SESSION, (new.tenant, new.dispatch.session.identity)).fetchone()
        raise errors.SessionAffinityMismatch if known else errors.DeliveryConflict
    return as_uuid(row[0])


def hold_all(run: Run, delivery: UUID) -> list[UUID]:
    """Lock a delivery, and then its invocations, which are returned."""
    run(HOLD_ONE, (delivery,)).fetchall()
    return [as_uuid(row[0]) for row in run(HOLD_ALL, (delivery,)).fetchall()]


def hold_with_invocations(run: Run, invocation: UUID) -> None:
    """Lock the delivery of an invocation with all its invocations, for a transaction that may make several transitions.

    Without this it would hold the feed's head, which its first transition takes, when it comes to lock the second invocation.
    """
    run(HOLD_OF, (invocation,)).fetchall()
    run(HOLD_INVOCATIONS, (invocation,)).fetchall()
