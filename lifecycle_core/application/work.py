"""What workers ask of the application: what is there to do, and do it. Who runs turns is chosen above (`workers`)."""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import DatabaseError, connection

from lifecycle_core.application import bootstrap
from lifecycle_core.contract.status import WORKING, Status
from lifecycle_core.engine import advance
from lifecycle_core.engine.interruption import Interruption, Reason
from lifecycle_core.journal.models import Invocation

log = logging.getLogger(__name__)

type Probe = Callable[[], list[str]]

_probes: Final[list[Probe]] = []


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """An invocation that a worker can drive now; `resumes` tells that people have decided something."""

    invocation: UUID
    resumes: bool


def claimable(limit: int, without: Collection[UUID] = ()) -> list[Waiting]:
    """Return at least `limit` invocations that a worker can drive now, if there are so many; those that wait longest first.

    `without` names those that the worker cannot take. However many others wait, those for which people have decided something
    are among them.
    """
    most = limit + len(without)
    found = bootstrap.journal().claimable(bootstrap.clock().now_ms(), most)
    waiting = [Waiting(invocation=f.invocation, resumes=f.status is Status.AWAITING_INPUT) for f in found]
    if len(waiting) == most:
        waiting = [*_resumes(most), *(one for one in waiting if not one.resumes)]
    return [one for one in waiting if one.invocation not in without]


def _resumes(limit: int) -> list[Waiting]:
    rows = Invocation.objects.filter(ready=True, status=Status.AWAITING_INPUT).order_by("created_at")
    return [Waiting(invocation=found, resumes=True) for found in rows.values_list("pk", flat=True)[:limit]]


def drive(invocation: UUID, worker: str, interruption: Interruption) -> None:
    """Drive one invocation as far as it goes."""
    advance.advance(bootstrap.services(), invocation, worker=worker, interruption=interruption)


def watch(running: Mapping[UUID, Interruption], worker: str, *, renew: bool) -> None:
    """Interrupt what a worker must not drive any longer, and then renew the leases of all that it has not lost.

    A cancelled invocation is one of those: until it is left, nobody may have its session.
    """
    begun = {
        one: interruption for one, interruption in running.items() if interruption.deadline_ms is not None
    }
    _interrupt_late(begun)
    lost = _interrupt_lost(begun, worker)
    if renew:
        for invocation in begun.keys() - lost:
            _renew(invocation, begun[invocation].token)


def _interrupt_late(begun: Mapping[UUID, Interruption]) -> None:
    """Interrupt the turns that have had their time; no database is needed for that."""
    now = bootstrap.clock().monotonic_ms()
    for interruption in begun.values():
        if interruption.deadline_ms is not None and now > interruption.deadline_ms:
            interruption.interrupt("time-limit")


def _interrupt_lost(begun: Mapping[UUID, Interruption], worker: str) -> set[UUID]:
    """Interrupt what was cancelled or taken over, and return what is taken over or gone."""
    stands, lost = _stands(begun), set[UUID]()
    for invocation, interruption in begun.items():
        stand = stands.get(invocation)
        if reason := _lost(stand, worker, interruption.token):
            interruption.interrupt(reason)
        if stand is None or reason == "lease-lost":
            lost.add(invocation)
    return lost


def _renew(invocation: UUID, token: int) -> None:
    services = bootstrap.services()
    try:
        services.journal.renew(invocation, token, services.timing.lease_ms, services.clock.now_ms())
    except DatabaseError:
        # The lease outlives several rounds, and the other turns need theirs renewed in this one.
        log.exception("the lease of invocation %s was not renewed", invocation)


def _stands(running: Mapping[UUID, Interruption]) -> dict[UUID, tuple[str, str, int]]:
    """Return status, worker and fencing token of what runs here."""
    rows = Invocation.objects.filter(pk__in=list(running)).values_list("pk", "status", "worker", "token")
    return {invocation: (status, worker, token) for invocation, status, worker, token in rows}


def _lost(stands: tuple[str, str, int] | None, worker: str, token: int) -> Reason | None:
    """Tell why a worker must not drive an invocation; one that has not taken its lease yet goes on."""
    if stands is None or stands[0] == Status.CANCELLED:
        return "cancelled"
    status, holder, last = stands
    held = status in WORKING and (holder, last) == (worker, token)
    return None if held or last < token else "lease-lost"


def void_leases() -> int:
    """End the leases of a process that is gone and return how many there were.

    Only on the embedded database, whose one serving process holds the lock of its folder; elsewhere leases run out.
    """
    if connection.vendor != "sqlite":
        return 0
    return bootstrap.journal().void_leases(bootstrap.clock().now_ms())


def add_probe(probe: Probe) -> None:
    """Let a worker say what keeps it from working."""
    _probes.append(probe)


def remove_probe(probe: Probe) -> None:
    """Forget a worker that has stopped."""
    _probes.remove(probe)


def problems() -> list[str]:
    """Return what keeps the workers of this process from working."""
    return [problem for probe in _probes for problem in probe()]
