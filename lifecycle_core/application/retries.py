"""Retry: another attempt at what has failed, was invalid or was cancelled, as a new episode of the same delivery."""

from typing import Final
from uuid import UUID

from lifecycle_core.application import agents, commands, composition, invocations, permissions
from lifecycle_core.application.reading import invocations as rows
from lifecycle_core.application.reading import stored
from lifecycle_core.application.resources import InvocationItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.invocation import Dispatch
from lifecycle_core.contract.ports import NewInvocation
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import composing, dispatches
from lifecycle_core.journal.models import Invocation

RETRYABLE: Final = frozenset({Status.FAILED, Status.INVALID, Status.CANCELLED})
NEVER: Final = "never"


def retry(actor: Actor, invocation: UUID, *, key: str | None = None) -> InvocationItem:
    """Start the next attempt, with the same version of the agent and the same input.

    A hint of `same-episode` or `new-attempt` lets it be retried, `never` does not (`errors.RetryRefused`), nor may one that has
    not ended or was retried already. Every attempt is an episode of its own: whether it has a session of its own, too, is
    for the agent's session policy to say. Of two at once one is refused with `errors.CorrelationMismatch`.
    """
    found = rows.row(actor, invocation)
    permissions.check_can_start(actor)

    def make() -> NewInvocation:
        if not _may_be_retried(found):
            raise errors.RetryRefused
        return invocations.as_new(actor, _next(found), attempt=found.attempt + 1, parent=found.pk)

    body: Json = {"invocation": str(invocation)}
    return invocations.admit(actor, commands.Command.of("retry", key, body), make)


def may_retry(actor: Actor, item: InvocationItem) -> bool:
    """Tell whether somebody may start another attempt at this now."""
    return permissions.can_start(actor) and _may_be_retried(rows.row(actor, UUID(item.id)))


def following(actor: Actor, item: InvocationItem) -> str | None:
    """Return the attempt that followed this one, if there is one that the actor may see."""
    found = rows.visible(actor).filter(parent=UUID(item.id), attempt=item.attempt + 1).first()
    return str(found.pk) if found else None


def _may_be_retried(found: Invocation) -> bool:
    hint = rows.items([found])[0].disposition or {}
    retried = Invocation.objects.filter(parent=found.pk, attempt=found.attempt + 1).exists()
    return found.status in RETRYABLE and hint.get("retry") != NEVER and not retried


def _next(found: Invocation) -> Dispatch:
    """Return the dispatch of the next attempt; a host that gave less access than the agent has gives no more now."""
    given = dispatches.read(stored.reader(found.delivery_id)(found.dispatch))
    agent = agents.version(found.tenant, found.agent, found.agent_binding)
    episode = composing.following_episode(given.episode, found.attempt + 1)
    access = given.executor.turn["access"]
    rules = access if isinstance(access, list) else []
    return composition.compose(found.tenant, agent, found.action, given.input, episode, rules)
