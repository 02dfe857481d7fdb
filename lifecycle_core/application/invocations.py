"""Use cases over invocations: start and cancel one."""

import uuid
from typing import Final
from uuid import UUID

from lifecycle_core.application import agents, bootstrap, commands, permissions, queries
from lifecycle_core.application.reading import invocations as rows
from lifecycle_core.application.resources import InvocationItem
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.identities import DeliveryRef
from lifecycle_core.contract.ports import NewInvocation
from lifecycle_core.engine import admission, leases
from lifecycle_core.engine.control import CancelReason

MAX_DELIVERY_IDENTITY: Final = 200


def start(
    actor: Actor,
    *,
    agent: str,
    action: str,
    input: Json,
    delivery: str | None = None,
    context: Json = None,
    key: str | None = None,
) -> InvocationItem:
    """Start an action of a registered agent, as part of the named delivery or of a new one.

    `context` is the caller's own note; it is kept with the admission and shown, and no agent sees it.
    Raises `errors.NotFound` for an unknown agent or action, `errors.SchemaInvalid` for an input that does not fit,
    `errors.SecretInArguments` for one that carries the agent's own secret, and the refusals of admission; then nothing has
    happened.
    """
    permissions.check_can_start(actor)
    body: Json = {"agent": agent, "action": action, "input": input, "delivery": delivery, "context": context}

    def run() -> UUID:
        definition = agents.current(actor.tenant, agent)
        if action not in definition.actions:
            raise errors.NotFound
        leases.check_has_no_secret(bootstrap.services(), actor.tenant, definition, [input, delivery, context])
        identity = _checked(delivery) if delivery is not None else f"delivery-{uuid.uuid4()}"
        new = _new(actor, definition, action, input, identity, context)
        bootstrap.host().start(new)
        return new.id

    return queries.invocation(actor, commands.Command.of("start", key, body).once(actor, run))


def _new(
    actor: Actor, agent: AgentDefinition, action: str, value: Json, delivery: str, context: Json
) -> NewInvocation:
    invocation = uuid.uuid4()
    reference = DeliveryRef(
        identity=delivery,
        manifest_binding=digests.digest({"agent": agent.name, "binding": agent.binding}),
        activation_binding=digests.digest({"tenant": actor.tenant, "workspace": agent.workspace}),
    )
    dispatch = admission.compose(
        agent, action, value, delivery=reference, thread=f"thread-{invocation}", attempt=1
    )
    return NewInvocation(
        id=invocation,
        tenant=actor.tenant,
        delivery=reference,
        dispatch=dispatch,
        agent=agent.name,
        agent_binding=agent.binding,
        action=action,
        provider=agent.provider,
        model=agent.model,
        attempt=1,
        requester=actor.name,
        context=context,
    )


def _checked(delivery: str) -> str:
    if not delivery.strip() or len(delivery) > MAX_DELIVERY_IDENTITY or not delivery.isprintable():
        detail = f"a delivery's identity has 1 to {MAX_DELIVERY_IDENTITY} printable characters"
        raise errors.SchemaInvalid(problems=[Problem("/delivery", detail)])
    return delivery


def cancel(
    actor: Actor,
    invocation: UUID,
    *,
    reason: CancelReason = "COORDINATOR_STOP",
    comment: str = "",
    key: str | None = None,
) -> InvocationItem:
    """Cancel one invocation, durably before anything is interrupted; one that has ended keeps its status."""
    found = rows.row(actor, invocation)
    permissions.check_can_cancel_invocation(actor)
    if comment:
        comment = str(leases.without_secrets(bootstrap.services(), found.pk, comment))
    body: Json = {"invocation": str(invocation), "reason": reason, "comment": comment}

    def run() -> UUID:
        bootstrap.control().cancel(found.pk, reason=reason, by=actor.name, comment=comment)
        return found.pk

    return queries.invocation(actor, commands.Command.of("cancel-invocation", key, body).once(actor, run))
