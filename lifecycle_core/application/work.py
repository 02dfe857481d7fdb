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
from lifecycle_core.engine.interruption import Interruption
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
    """Interrupt what a worker must not drive any longer, and renew the leases of the rest."""
    services = bootstrap.services()
    leases = _leases(running, worker)
    for invocation, interruption in running.items():
        deadline = interruption.deadline_ms
        if deadline is not None and services.clock.monotonic_ms() > deadline:
            interruption.interrupt("time-limit")
        if deadline is not None and invocation not in leases:
            _interrupt_if_lost(invocation, interruption, worker)
        elif invocation in leases and renew:
            _renew(invocation, leases[invocation])


def _renew(invocation: UUID, token: int) -> None:
    services = bootstrap.services()
    try:
        services.journal.renew(invocation, token, services.timing.lease_ms, services.clock.now_ms())
    except DatabaseError:
        # The lease outlives several rounds, and the other turns need theirs renewed in this one.
        log.exception("the lease of invocation %s was not renewed", invocation)


def _leases(running: Mapping[UUID, Interruption], worker: str) -> dict[UUID, int]:
    """Return the fencing tokens of the leases that a worker holds."""
    held = Invocation.objects.filter(pk__in=list(running), worker=worker, status__in=sorted(WORKING))
    return dict(held.values_list("pk", "token"))


def _interrupt_if_lost(invocation: UUID, interruption: Interruption, worker: str) -> None:
    """Stop a turn that was cancelled or taken over; one that has not taken its lease yet goes on."""
    found = Invocation.objects.filter(pk=invocation).values_list("status", "worker").first()
    if found is None or found[0] == Status.CANCELLED:
        interruption.interrupt("cancelled")
    elif found[0] in WORKING and found[1] not in ("", worker):
        interruption.interrupt("lease-lost")


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
