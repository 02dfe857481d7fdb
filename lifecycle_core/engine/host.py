"""The facet of the workflow host: start an invocation, continue it with an answer (reference: seed-contracts 3.5)."""

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from lifecycle_core.contract import digests, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import Appended, NewInvocation
from lifecycle_core.engine import admission, continuing, machine
from lifecycle_core.engine.inputs import Response
from lifecycle_core.engine.services import Services


class HostFacet(Protocol):
    """What a host may do, and nothing else."""

    def start(self, new: NewInvocation) -> Appended: ...

    def continue_with_input(
        self, invocation: UUID, episode: Mapping[str, Json], response: Response, *, by: str
    ) -> Appended: ...


class Host:
    """Start and continue invocations."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def start(self, new: NewInvocation) -> Appended:
        """Admit an invocation. Raises the call errors of `admission.check` before anything is stored."""
        admission.check(new.dispatch, self._services.provider)
        dispatch = new.dispatch.as_json()
        admitted = events.InvocationAdmitted(
            agent=new.agent,
            action=new.action,
            provider=new.provider,
            model=new.model,
            delivery=new.delivery.identity,
            input=new.dispatch.input,
            requester=new.requester,
            dispatch_digest=digests.digest(dispatch),
            context=new.context,
        )
        status = machine.next_status(None, type(admitted))
        return self._services.journal.admit(new, admitted, status=status, at_ms=self._services.clock.now_ms())

    def continue_with_input(
        self, invocation: UUID, episode: Mapping[str, Json], response: Response, *, by: str
    ) -> Appended:
        """Let an invocation go on with a response, or burn it with one that is none. Raises `errors.CorrelationMismatch`."""
        return continuing.continue_with_input(self._services, invocation, episode, response, by=by)
