"""Make an answer to an open request a fact, whatever the invocation does meanwhile."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import Appended, Change
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import machine, telling
from lifecycle_core.engine.services import Services

# A worker may be running another call of the same turn, so an answer is taken while the invocation runs, too.
ANSWERABLE: Final = frozenset({Status.RUNNING, Status.AWAITING_INPUT})


def resolve(services: Services, invocation: UUID, facts: Sequence[Event], *, by: str) -> Appended:
    """Append the facts of one answer.

    Raises `errors.AlreadyDecided`, `errors.DigestMismatch` or `errors.RequestExpired` when the request is no longer what was
    answered, `errors.StatusConflict` when its invocation has ended, and `errors.ValueTooLarge` for what the agent could not be
    told.
    """
    telling.check_results(facts, services.value_bytes)
    return services.journal.append(
        Change(
            invocation=invocation,
            actor=by,
            at_ms=services.clock.now_ms(),
            transitions=machine.transitions(facts, ANSWERABLE),
            events=tuple(facts),
        )
    )
