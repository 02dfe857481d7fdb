"""The facet of the workflow host: start an invocation, continue it with an answer (reference: seed-contracts 3.5)."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from lifecycle_core.contract import digests, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import Appended, CallRecord, NewInvocation
from lifecycle_core.engine import admission, inputs, machine, requests
from lifecycle_core.engine.services import Services


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer to one input request, with what the request said."""

    input: str
    request_identity: str
    response_schema: Json
    by: str
    kind: inputs.ResponseKind
    content: Json


class HostFacet(Protocol):
    """What a host may do, and nothing else."""

    def start(self, new: NewInvocation) -> Appended: ...

    def continue_with_input(self, invocation: UUID, asking: CallRecord, answer: Answer) -> Appended: ...


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

    def continue_with_input(self, invocation: UUID, asking: CallRecord, answer: Answer) -> Appended:
        """Give an agent the answer to its question. Raises `errors.SchemaInvalid` for one that does not fit."""
        facts = inputs.answer(
            asking,
            input=answer.input,
            request_identity=answer.request_identity,
            response_schema=answer.response_schema,
            by=answer.by,
            kind=answer.kind,
            content=answer.content,
        )
        return requests.resolve(self._services.journal, self._services.clock, invocation, facts, by=answer.by)
