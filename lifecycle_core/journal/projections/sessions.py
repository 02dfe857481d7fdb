"""Native sessions: bound to their affinity once, and only exactly restored."""

from typing import Final
from uuid import uuid4

from lifecycle_core.contract import events
from lifecycle_core.journal.sql import Statement
from lifecycle_core.journal.standing import Work

OPENED: Final = Statement(
    "INSERT INTO journal_session (id, tenant, delivery_id, affinity, opaque_identity, binding, generation, provider, length)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 0) ON CONFLICT DO NOTHING"
)
RESTORED: Final = Statement(
    "UPDATE journal_session SET generation = %s, binding = %s"
    " WHERE tenant = %s AND affinity = %s AND opaque_identity = %s AND generation = %s"
)


def opened(work: Work, event: events.SessionOpened) -> None:
    """Bind an affinity to its first session."""
    standing = work.standing
    place = (uuid4(), standing.tenant, standing.delivery_id, event.affinity)
    session = (event.opaque_identity, event.binding, event.generation, standing.provider)
    work.one(work.run(OPENED, (*place, *session)))
    standing.session, standing.generation = event.opaque_identity, event.generation


def restored(work: Work, event: events.SessionRestored) -> None:
    """Begin the next generation of a bound session."""
    standing = work.standing
    session = (standing.tenant, event.affinity, event.opaque_identity, event.generation - 1)
    work.one(work.run(RESTORED, (event.generation, event.binding, *session)))
    standing.session, standing.generation = event.opaque_identity, event.generation
