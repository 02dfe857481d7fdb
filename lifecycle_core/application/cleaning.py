"""Keep an agent's secret out of what people say to it."""

from collections.abc import Sequence
from uuid import UUID

from lifecycle_core.application import agents, bootstrap
from lifecycle_core.contract import errors
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.engine import leases
from lifecycle_core.journal.models import Invocation


def value(invocation: Invocation, said: Json) -> Json:
    """Return a value without the secret of the agent that it is said to."""
    return leases.without_secrets(bootstrap.services(), invocation.tenant, _agent(invocation), said)


def text(invocation: Invocation, said: str) -> str:
    """Return a text without the secret of the agent that it is said to."""
    return str(value(invocation, said)) if said else ""


def facts(invocation: UUID, found: Sequence[Event]) -> list[Event]:
    """Return the facts of a decision without the secret of the agent whose call was decided. Raises `errors.NotFound`."""
    row = Invocation.objects.filter(pk=invocation).first()
    if row is None:
        raise errors.NotFound
    return leases.facts_without_secrets(bootstrap.services(), row.tenant, _agent(row), found)


def check_authorization(tenant: str, delivery: UUID, authorization: str) -> None:
    """Raise `errors.SecretInArguments` for an authorization with the secret of an agent that the delivery has had."""
    found = Invocation.objects.filter(tenant=tenant, delivery_id=delivery)
    for agent, binding in found.order_by().values_list("agent", "agent_binding").distinct():
        definition = agents.version(tenant, agent, binding)
        leases.check_has_no_secret(bootstrap.services(), tenant, definition, authorization)


def _agent(invocation: Invocation) -> AgentDefinition:
    return agents.version(invocation.tenant, invocation.agent, invocation.agent_binding)
