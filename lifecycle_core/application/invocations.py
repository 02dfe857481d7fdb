"""Start invocations: an action of a registered agent, or a complete dispatch that a host brings."""

import uuid
from collections.abc import Callable
from typing import Final
from uuid import UUID

from lifecycle_core.application import agents, commands, composition, hosting, permissions, queries
from lifecycle_core.application.reading import attempts
from lifecycle_core.application.resources import InvocationItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.invocation import Dispatch
from lifecycle_core.contract.ports import NewInvocation
from lifecycle_core.engine import dispatches

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
    Raises `errors.NotFound` for an unknown agent or action, `errors.AgentWithdrawn` for an agent that was withdrawn,
    `errors.SchemaInvalid` for an input that does not fit,
    `errors.ValueTooLarge` for one that no message could tell, `errors.SecretInArguments` for one that carries the agent's own
    secret, and the refusals of admission; then nothing has happened.
    """
    permissions.check_can_start(actor)
    body: Json = {"agent": agent, "action": action, "input": input, "delivery": delivery, "context": context}

    def make() -> NewInvocation:
        dispatch = compose(actor, agent=agent, action=action, input=input, delivery=delivery)
        return as_new(actor, dispatch, context=context)

    return admit(actor, commands.Command.of("start", key, body), make)


def start_dispatch(
    actor: Actor, *, dispatch: Json, context: Json = None, key: str | None = None
) -> InvocationItem:
    """Start a complete dispatch of a registered agent, checked as the contract says (reference: seed-contracts 4).

    The attempt before at the same thing becomes its parent, whatever its host has named the two.
    Raises `errors.SchemaInvalid` for a value of another shape and the refusals of admission; then nothing has happened.
    """
    permissions.check_can_start(actor)
    given = dispatches.read(dispatch, at="/dispatch")
    _checked(given.episode.thread.delivery.identity, at="/dispatch/episode/thread/delivery/deliveryIdentity")
    body: Json = {"dispatch": dispatch, "context": context}

    def make() -> NewInvocation:
        existing = attempts.at(actor.tenant, given.episode)
        attempt = existing.number(composition.attempt_of(given.episode))
        parent = existing.last.pk if existing.last else None
        return as_new(actor, given, context=context, attempt=attempt, parent=parent)

    return admit(actor, commands.Command.of("start", key, body), make)


def compose(actor: Actor, *, agent: str, action: str, input: Json, delivery: str | None = None) -> Dispatch:
    """Return the complete dispatch that `start` would start; nothing is stored.

    Raises `errors.NotFound` for an unknown agent or action, `errors.AgentWithdrawn` for an agent that was withdrawn,
    `errors.SchemaInvalid` for a delivery that is no identity and `errors.ConfigurationInvalid` for an agent whose workspace
    is not registered.
    """
    permissions.check_can_start(actor)
    definition = agents.startable(actor.tenant, agent)
    if action not in definition.actions:
        raise errors.NotFound
    identity = _checked(delivery) if delivery is not None else f"delivery-{uuid.uuid4()}"
    episode = composition.new_episode(actor.tenant, definition, action, identity)
    return composition.compose(actor.tenant, definition, action, input, episode)


def admit(actor: Actor, command: commands.Command, make: Callable[[], NewInvocation]) -> InvocationItem:
    """Admit what `make` returns, as a command: everything is made and checked before the transaction that stores it."""
    checked = None
    if not command.is_answered(actor):
        try:
            checked = hosting.host().check(make())
        except errors.Refused:
            # The same command may have been carried out meanwhile: then it has its answer.
            if not command.is_answered(actor):
                raise

    def run() -> UUID:
        if checked is None:
            raise errors.DeliveryRetired  # The stored answer went with its delivery a moment ago.
        agents.check_not_withdrawn(checked.new.tenant, checked.new.agent, checked.new.agent_binding)
        hosting.host().admit(checked)
        return checked.new.id

    return queries.invocation(actor, command.once(actor, run))


def as_new(
    actor: Actor, dispatch: Dispatch, *, context: Json = None, attempt: int = 1, parent: UUID | None = None
) -> NewInvocation:
    """Return what is stored of a dispatch beside itself, taken from its own parts."""
    named = composition.names(dispatch)
    return NewInvocation(
        id=uuid.uuid4(),
        tenant=actor.tenant,
        delivery=dispatch.episode.thread.delivery,
        dispatch=dispatch,
        agent=named.agent,
        agent_binding=named.binding,
        action=named.action,
        provider=named.provider,
        model=named.model,
        attempt=attempt,
        parent=parent,
        requester=actor.name,
        context=context,
    )


def _checked(delivery: str, at: str = "/delivery") -> str:
    if not delivery.strip() or len(delivery) > MAX_DELIVERY_IDENTITY or not delivery.isprintable():
        detail = f"a delivery's identity has 1 to {MAX_DELIVERY_IDENTITY} printable characters"
        raise errors.SchemaInvalid(problems=[Problem(at, detail)])
    return delivery
