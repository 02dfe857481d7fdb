"""The facet of the lifecycle coordinator: cancel, resolve, inspect, retire (reference: seed-contracts 3.5 and 9)."""

from collections.abc import Iterable
from typing import Literal, Protocol
from uuid import UUID

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.invocation import CancelReason
from lifecycle_core.contract.ports import Change, Clock, Journal, Place
from lifecycle_core.contract.resolution import Resolution
from lifecycle_core.contract.status import ACTIVE, WORKING, Status
from lifecycle_core.engine import closing, machine
from lifecycle_core.engine.resolution import facts

type Process = Literal["running", "terminal", "stopped"]

FINISHED = frozenset({Status.COMPLETED, Status.FAILED, Status.INVALID})


class ControlFacet(Protocol):
    """What a coordinator may do, and nothing else."""

    def cancel(self, invocation: UUID, *, reason: CancelReason, by: str, comment: str) -> Status: ...

    def resolve(self, invocation: UUID, resolution: Resolution) -> Status: ...

    def inspect(self, statuses: Iterable[Status]) -> Process: ...

    def retire(
        self,
        tenant: str,
        delivery: UUID,
        *,
        authorization: str,
        by: str,
        manifest_binding: str | None,
        activation_binding: str | None,
    ) -> UUID: ...


class Control:
    """Cancel, resolve, inspect and retire."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    def cancel(self, invocation: UUID, *, reason: CancelReason, by: str, comment: str) -> Status:
        """Cancel an invocation durably and return its status; one that has ended or is unknown keeps its own.

        The native cancel follows from the fact: whoever drives the invocation loses it with this commit.
        """
        for _ in range(closing.ATTEMPTS):
            place = self._journal.place(invocation)
            if place.status not in ACTIVE:
                return place.status
            facts = (
                *closing.closing_facts(self._journal, invocation, place.model_turns, "cancelled"),
                events.InvocationCancelled(reason=reason, by=by, comment=comment),
            )
            change = Change(
                invocation=invocation,
                actor=by,
                at_ms=self._clock.now_ms(),
                transitions=machine.transitions(facts, ACTIVE),
                events=facts,
                version=place.version,  # what is asked meanwhile has to be closed as well
            )
            try:
                return self._journal.append(change).status
            except (errors.AlreadyDecided, errors.RequestExpired, errors.StatusConflict):
                continue  # Something was decided or asked between the look and the commit; look again.
        raise errors.StatusConflict(status=place.status)

    def resolve(self, invocation: UUID, resolution: Resolution) -> Status:
        """Say what is known again of an unknown invocation, and return its status: it goes on, has failed or is cancelled.

        Raises `errors.StatusConflict` for one that is not unknown, also when another coordinator was first, and
        `errors.SchemaInvalid` for findings that do not fit its open calls.
        """
        for _ in range(closing.ATTEMPTS):
            place = self._journal.place(invocation)
            if place.status is not Status.UNKNOWN:
                break
            try:
                return self._journal.append(self._resolving(invocation, place, resolution)).status
            except errors.StatusConflict:
                continue  # Another coordinator was first, or something came late; look again.
            except errors.SchemaInvalid:
                # The calls may be those that another coordinator has left, a moment after the look.
                if self._journal.place(invocation).version == place.version:
                    raise
        raise errors.StatusConflict(status=place.status)

    def _resolving(self, invocation: UUID, place: Place, resolution: Resolution) -> Change:
        found = facts(resolution, self._journal.calls(invocation, place.model_turns))
        if resolution.outcome != "continue":
            why = f"resolved as {resolution.outcome}"
            ended = closing.closing_facts(self._journal, invocation, place.model_turns, why)
            found = [*found[:-1], *ended, found[-1]]
        return Change(
            invocation=invocation,
            actor=resolution.by,
            at_ms=self._clock.now_ms(),
            transitions=machine.transitions(found, {Status.UNKNOWN}),
            events=tuple(found),
            version=place.version,
        )

    def inspect(self, statuses: Iterable[Status]) -> Process:
        """Return the aggregate of a delivery's statuses as the contract defines it."""
        found = set(statuses)
        if found & WORKING:
            return "running"
        return "terminal" if found & FINISHED else "stopped"

    def retire(
        self,
        tenant: str,
        delivery: UUID,
        *,
        authorization: str,
        by: str,
        manifest_binding: str | None = None,
        activation_binding: str | None = None,
    ) -> UUID:
        """Delete a delivery in one transaction with its tombstone, whose identity is returned.

        The same authorization gets the same tombstone again. Raises `errors.RetirementNotAuthorized`, `errors.DeliveryBusy` and
        `errors.NotFound`.
        """
        return self._journal.retire(
            tenant,
            delivery,
            authorization=authorization,
            by=by,
            at_ms=self._clock.now_ms(),
            manifest_binding=manifest_binding,
            activation_binding=activation_binding,
        )
