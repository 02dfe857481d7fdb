"""The facet of the workflow host: start an invocation, continue it with an answer (reference: seed-contracts 3.5)."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from lifecycle_core.contract import digests, errors, events, stages
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.frozen import freeze
from lifecycle_core.contract.ports import Appended, NewInvocation
from lifecycle_core.contract.subjects import Admission, Identity, Moment, Trusted
from lifecycle_core.engine import admission, continuing, leases, machine
from lifecycle_core.engine.chain import Chain
from lifecycle_core.engine.inputs import Response
from lifecycle_core.engine.services import Services

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checked:
    """An invocation that has passed the checks; only a host makes one."""

    new: NewInvocation


class HostFacet(Protocol):
    """What a host may do, and nothing else."""

    def check(self, new: NewInvocation) -> Checked: ...

    def admit(self, checked: Checked) -> Appended: ...

    def continue_with_input(
        self, invocation: UUID, episode: Mapping[str, Json], response: Response, *, by: str
    ) -> Appended: ...


class Host:
    """Start and continue invocations."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def check(self, new: NewInvocation) -> Checked:
        """Raise the call errors of `admission` before anything is stored, leased or opened; outside of any transaction.

        So it does for a workspace capability that is not ours (`errors.CapabilityMismatch`), an agent that is not registered in
        that version (`errors.ExecutorBindingMismatch`), a secret of the agent's in what it shall be given
        (`errors.SecretInArguments`), an input that it could not be told (`errors.ValueTooLarge`), a provider that is not
        here (`errors.ProviderNotImplemented`), and a start that a gate does not allow (`errors.Forbidden`).
        """
        services, dispatch = self._services, new.dispatch
        admission.check(dispatch)
        if dispatch.workspace.kind != "none" and not services.workspaces.is_sealed(
            new.tenant, dispatch.workspace
        ):
            raise errors.CapabilityMismatch
        admission.check_values(dispatch)
        admission.check_can_be_told(dispatch, services.value_bytes)
        try:
            agent = services.agent(new.tenant, new.agent, new.agent_binding)
        except errors.NotFound as absent:
            raise errors.ExecutorBindingMismatch from absent
        admission.check_registered(dispatch, agent, [tool.spec for tool in services.tools(agent).values()])
        leases.check_has_no_secret(services, new.tenant, agent, [dispatch.as_json(), new.context])
        if not services.has_provider(agent.provider):
            raise errors.ProviderNotImplemented
        self._judge(new, agent)
        return Checked(new)

    def _judge(self, new: NewInvocation, agent: AgentDefinition) -> None:
        """Ask the gates of starts. Nobody can be asked about one, so a gate that wants people to be asked refuses it."""
        chain = Chain(
            self._services.roster(agent),
            health=self._services.health,
            note=_say,
            now_ms=self._services.clock.monotonic_ms,
        )
        asked = Admission(
            identity=Identity(invocation=str(new.id), attempt=str(new.attempt)),
            trusted=Trusted.of(new.tenant, new.requester, agent),
            action=new.action,
            input=freeze(new.dispatch.input),
        )
        verdict = chain.judge(stages.INVOCATION_ADMIT, asked)
        chain.show(Moment(stage=stages.INVOCATION_ADMIT, when="after", subject=asked, outcome=verdict))
        if verdict.outcome != "allow":
            raise errors.Forbidden(reason=f"{verdict.rule}: {verdict.reason}")

    def admit(self, checked: Checked) -> Appended:
        """Store an invocation that has passed the checks, and return where it stands."""
        new = checked.new
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


def _say(fact: Event) -> None:
    """Say in the log what happened to a plugin while there is no journal yet that could hold it."""
    log.warning("%s: %s", fact.kind, fact.payload())
