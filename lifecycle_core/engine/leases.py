"""An agent's secret: leased for as long as something of the agent's runs, and kept out of all that is noted meanwhile."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

from lifecycle_core.contract import errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import CredentialLease
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.engine.services import Services

log = logging.getLogger(__name__)


@contextlib.contextmanager
def leased(episode: Episode) -> Iterator[CredentialLease | None]:
    """Lease the secret for one turn of a worker and release it once; nothing where it cannot be had.

    What people have decided runs all the same: it does not depend on the model's key.
    """
    lease = _lease(episode)
    if lease is None:
        yield None
        return
    try:
        episode.protect(lease.material.values())
        yield lease
    finally:
        give_back(lease.release)


def _lease(episode: Episode) -> CredentialLease | None:
    try:
        return episode.services.lease(episode.record.tenant, episode.agent)
    except errors.CredentialAcquisitionFailed:
        return None


def without_secrets(services: Services, invocation: UUID, value: Json) -> Json:
    """Return what a person says to an agent without the agent's secret, should he have pasted it."""
    episode = Episode.of(services, services.journal.load(invocation), Interruption())
    with leased(episode):
        return episode.redactor.redact(value)


def facts_without_secrets(services: Services, invocation: UUID, facts: Sequence[Event]) -> list[Event]:
    """Return the facts of a decision, with what people said and tools found out, without the agent's secret."""
    payloads: Any = without_secrets(services, invocation, [fact.payload() for fact in facts])
    return [type(fact).of(payload) for fact, payload in zip(facts, payloads, strict=True)]


def give_back(release: Callable[[], None]) -> None:
    """Give something back that the turn no longer needs; that it cannot be given back says nothing about the turn."""
    try:
        release()
    except Exception:
        log.exception("something of a turn could not be given back")
