"""Show plugins what people have ended, once that is durable."""

from functools import partial
from uuid import UUID

from django.db import transaction

from lifecycle_core.application import bootstrap
from lifecycle_core.contract import events
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import endings

SETTLED: dict[Status, type[Event]] = {
    Status.CANCELLED: events.InvocationCancelled,
    Status.FAILED: events.InvocationFailed,
}


def show(invocation: UUID, before: str, now: Status) -> None:
    """Show that an invocation has ended, if it had not before; what plugins do then does not reach whoever ended it."""
    if now in SETTLED and before != now:
        shown = partial(endings.show_outside, bootstrap.services(), invocation, SETTLED[now])
        transaction.on_commit(shown, robust=True)
