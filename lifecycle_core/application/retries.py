"""Retry: another attempt at what has failed, was invalid or was cancelled, as a new episode of the same delivery."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from lifecycle_core.application import agents, commands, composition, invocations, permissions
from lifecycle_core.application.reading import attempts, stored
from lifecycle_core.application.reading import invocations as rows
from lifecycle_core.application.reading.attempts import Attempts
from lifecycle_core.application.resources import InvocationItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.identities import EpisodeRef
from lifecycle_core.contract.invocation import Dispatch
from lifecycle_core.contract.ports import NewInvocation
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import dispatches
from lifecycle_core.journal.models import Invocation

RETRYABLE: Final = frozenset({Status.FAILED, Status.INVALID, Status.CANCELLED})
NEVER: Final = "never"


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What another attempt would be: its number, whether somebody may start it, and the attempt that is there already."""

    number: int
    allowed: bool
    withdrawn: bool
    following: str | None


def retry(actor: Actor, invocation: UUID, *, key: str | None = None) -> InvocationItem:
    """Start the next attempt, with the same version of the agent and the same input.

    A hint of `same-episode` or `new-attempt` lets it be retried, `never` does not (`errors.RetryRefused`), nor may one that has
    not ended or was retried already, here or by its host; the refusal then names the attempt that followed. Every attempt is
    an episode of its own: whether it has a session of its own, too, is for the agent's session policy to say. Of two at once
    one is refused. Raises `errors.AgentWithdrawn` where that version of the agent starts nothing any more.
    """
    found = rows.row(actor, invocation)
    permissions.check_can_start(actor)

    def make() -> NewInvocation:
        existing = attempts.at_same(found)
        refusal = _refusal(actor, found, existing)
        if refusal or existing is None:
            raise refusal or errors.RetryRefused
        number, episode = existing.next()
        return invocations.as_new(actor, _again(found, episode), attempt=number, parent=found.pk)

    body: Json = {"invocation": str(invocation)}
    try:
        return invocations.admit(actor, commands.Command.of("retry", key, body), make)
    except errors.CorrelationMismatch:
        # Somebody was faster: who was is there now.
        raise _refusal(actor, found, attempts.at_same(found)) or errors.RetryRefused() from None


def outlook(actor: Actor, item: InvocationItem) -> Outlook:
    """Tell what another attempt at this by somebody would be now."""
    found = rows.row(actor, UUID(item.id))
    existing = attempts.at_same(found)
    refusal = _refusal(actor, found, existing)
    return Outlook(
        number=existing.next()[0] if existing else found.attempt + 1,
        allowed=refusal is None and permissions.can_start(actor),
        withdrawn=isinstance(refusal, errors.AgentWithdrawn),
        following=_following(actor, found, existing) or None,
    )


def _refusal(actor: Actor, found: Invocation, existing: Attempts | None) -> errors.Refused | None:
    """Return why an attempt is not followed by another one, if it is not."""
    hint = rows.items([found])[0].disposition or {}
    if existing is None or existing.following(found):
        return errors.RetryRefused(following=_following(actor, found, existing))
    if found.status not in RETRYABLE or hint.get("retry") == NEVER:
        return errors.RetryRefused()
    withdrawn = agents.is_withdrawn(found.tenant, found.agent, found.agent_binding)
    return errors.AgentWithdrawn() if withdrawn else None


def _following(actor: Actor, found: Invocation, existing: Attempts | None) -> str:
    """Return the attempt that followed; nothing where the actor may not see it."""
    row = existing.following(found) if existing else None
    return str(row.pk) if row and permissions.visible(actor, row.requester) else ""


def _again(found: Invocation, episode: EpisodeRef) -> Dispatch:
    """Return the dispatch of the next attempt; a host that gave less access than the agent has gives no more now."""
    given = dispatches.read(stored.reader(found.delivery_id)(found.dispatch))
    agent = agents.version(found.tenant, found.agent, found.agent_binding)
    access = given.executor.turn["access"]
    rules = access if isinstance(access, list) else []
    return composition.compose(found.tenant, agent, found.action, given.input, episode, rules)
