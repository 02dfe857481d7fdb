"""Native sessions: held by one invocation at a time, bound to their affinity once, and only exactly restored.

An invocation takes the session of its affinity with its first lease and keeps it until it has ended, also while it waits for
people or nobody knows how it ended; so two new invocations of one affinity open it once, and neither speaks into the other's
turn (reference: seed-contracts 7 and 19.7). One that is ended from outside keeps it for as long as its worker has the lease:
the native session, maybe a process, lives until that worker has disposed of it. The session itself goes when its delivery is
retired.
"""

from typing import Final
from uuid import uuid4

from lifecycle_core.contract import errors, events, identities
from lifecycle_core.contract.identities import SessionAffinityRef
from lifecycle_core.contract.status import TERMINAL, Status
from lifecycle_core.journal.sql import Run, Statement, as_uuid
from lifecycle_core.journal.standing import Standing, Work

# What stands in the place of a native session that nobody has opened yet (reference: seed-contracts 7).
PENDING: Final = "pending-native-session"

RESERVED: Final = Statement(
    "INSERT INTO journal_session (id, tenant, delivery_id, affinity, opaque_identity, binding, generation, provider, length,"
    " compatibility, scope_value, isolation) VALUES (%s, %s, %s, %s, '', %s, 0, %s, 0, %s, %s, %s) ON CONFLICT DO NOTHING"
)
STORED: Final = Statement(
    "SELECT delivery_id, provider, compatibility, scope_value, isolation FROM journal_session"
    " WHERE tenant = %s AND affinity = %s"
)
FREE: Final = "(holder IS NULL OR holder = %s)"
ENDS: Final = ", ".join(f"'{status}'" for status in sorted(TERMINAL))
# Whoever has ended gives the session back with the lease; of a dead worker nothing is left once the lease ran out.
LEFT: Final = f"h.status IN ({ENDS}) AND h.lease_expires_at <= %s"
TAKEN: Final = Statement(
    f"UPDATE journal_session SET holder = %s WHERE tenant = %s AND affinity = %s AND ({FREE}"  # noqa: S608
    f" OR EXISTS (SELECT 1 FROM journal_invocation AS h WHERE h.id = holder AND {LEFT}))"
)
OPENED: Final = Statement(
    "UPDATE journal_session SET opaque_identity = %s, binding = %s, generation = %s, holder = %s"  # noqa: S608
    f" WHERE tenant = %s AND affinity = %s AND opaque_identity = '' AND {FREE}"
)
RESTORED: Final = Statement(
    "UPDATE journal_session SET generation = %s, binding = %s, holder = %s"  # noqa: S608
    f" WHERE tenant = %s AND affinity = %s AND opaque_identity = %s AND generation = %s AND {FREE}"
)
GIVEN_BACK: Final = Statement(
    "UPDATE journal_session SET holder = NULL WHERE tenant = %s AND affinity = %s AND holder = %s"
)


def reserve(work: Work, affinity: SessionAffinityRef) -> None:
    """Keep a place for the session of an affinity. Raises `errors.SessionAffinityMismatch` when another one has it."""
    standing = work.standing
    parts = (affinity.session_compatibility, affinity.scope_value, affinity.isolation)
    place = (uuid4(), standing.tenant, standing.delivery_id, standing.affinity)
    pending = identities.session_binding(standing.affinity, PENDING)
    if work.run(RESERVED, (*place, pending, standing.provider, *parts)).rowcount:
        return
    delivery, *stored = work.run(STORED, (standing.tenant, standing.affinity)).fetchone()
    if as_uuid(delivery) != as_uuid(standing.delivery_id) or stored != [standing.provider, *parts]:
        raise errors.SessionAffinityMismatch


def claimed(work: Work, event: events.InvocationClaimed) -> None:
    """Take the session for an invocation that starts; refuse the claim while another one has it."""
    standing = work.standing
    if standing.status is Status.STARTING:
        who = (standing.id, standing.tenant, standing.affinity, standing.id)
        work.one(work.run(TAKEN, (*who, work.at)))


def opened(work: Work, event: events.SessionOpened) -> None:
    """Bind an affinity to its first session."""
    standing = work.standing
    session = (event.opaque_identity, event.binding, event.generation, standing.id)
    work.one(work.run(OPENED, (*session, standing.tenant, event.affinity, standing.id)))
    standing.session, standing.generation = event.opaque_identity, event.generation


def restored(work: Work, event: events.SessionRestored) -> None:
    """Begin the next generation of a bound session."""
    standing = work.standing
    where = (standing.tenant, event.affinity, event.opaque_identity, event.generation - 1, standing.id)
    work.one(work.run(RESTORED, (event.generation, event.binding, standing.id, *where)))
    standing.session, standing.generation = event.opaque_identity, event.generation


def give_back(run: Run, standing: Standing) -> None:
    """Let the next invocation have the session of one that has ended and is in no worker's hands any more."""
    if standing.status in TERMINAL and not standing.worker:
        run(GIVEN_BACK, (standing.tenant, standing.affinity, standing.id))
