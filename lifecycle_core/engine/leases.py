"""An agent's secret: leased for as long as something of the agent's runs, and kept out of all that is noted meanwhile."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from lifecycle_core.contract import errors
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import CredentialLease
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.redaction import Redactor
from lifecycle_core.engine.services import Services

log = logging.getLogger(__name__)


@contextlib.contextmanager
def leased(episode: Episode) -> Iterator[CredentialLease | None]:
    """Lease the secret for one turn of a worker and release it once; nothing where it cannot be had.

    What people have decided runs all the same: it does not depend on the model's key. A secret that may not be used, since the
    agent's address is none of its origins, is kept out of everything all the same.
    """
    lease = _lease(episode)
    if lease is None:
        with protected(episode):
            yield None
        return
    with _kept_out(episode, lease):
        yield lease


@contextlib.contextmanager
def protected(episode: Episode) -> Iterator[None]:
    """Keep an agent's secret out of what is noted, without a right to use it."""
    held = episode.services.known_secret(episode.record.tenant, episode.agent)
    if held is None:
        yield
        return
    with _kept_out(episode, held):
        yield


@contextlib.contextmanager
def _kept_out(episode: Episode, held: CredentialLease) -> Iterator[None]:
    """Keep a secret out of the journal and of every log while it is held, and release it once."""
    try:
        episode.protect(held.material.values())
        with _in_use.holding(episode.redactor):
            yield
    finally:
        give_back(held.release)


def _lease(episode: Episode) -> CredentialLease | None:
    try:
        return episode.services.lease(episode.record.tenant, episode.agent)
    except errors.CredentialAcquisitionFailed:
        return None


def check_has_no_secret(services: Services, tenant: str, agent: AgentDefinition, value: Json) -> None:
    """Raise `errors.SecretInArguments` for what an agent shall be given that carries its own secret."""
    held = services.known_secret(tenant, agent)
    if held is None:
        return
    try:
        if Redactor(held.material.values()).contains_secret(value):
            raise errors.SecretInArguments
    finally:
        give_back(held.release)


def without_secrets(services: Services, tenant: str, agent: AgentDefinition, value: Json) -> Json:
    """Return what a person says to an agent without the agent's secret, should he have pasted it."""
    held = services.known_secret(tenant, agent)
    if held is None:
        return value
    try:
        return Redactor(held.material.values()).redact(value)
    finally:
        give_back(held.release)


def facts_without_secrets(
    services: Services, tenant: str, agent: AgentDefinition, facts: Sequence[Event]
) -> list[Event]:
    """Return the facts of a decision, with what people said and tools found out, without the agent's secret."""
    payloads: Any = without_secrets(services, tenant, agent, [fact.payload() for fact in facts])
    return [type(fact).of(payload) for fact, payload in zip(facts, payloads, strict=True)]


def give_back(release: Callable[[], None]) -> None:
    """Give something back that the turn no longer needs; that it cannot be given back says nothing about the turn."""
    try:
        release()
    except Exception:
        log.exception("something of a turn could not be given back")


class _InUse:
    """Know the secrets that turns of this process hold right now, for whatever writes beside the journal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._redactors: list[Redactor] = []

    @contextlib.contextmanager
    def holding(self, redactor: Redactor) -> Iterator[None]:
        with self._lock:
            self._redactors = [*self._redactors, redactor]
        try:
            yield
        finally:
            with self._lock:
                self._redactors = [held for held in self._redactors if held is not redactor]

    def cleaned(self, text: str) -> str:
        for redactor in self._redactors:
            text = redactor.text(text)
        return text


_in_use: Final = _InUse()


def cleaned(text: str) -> str:
    """Return a line of a log without any secret that is leased in this process now, whoever wrote it."""
    return _in_use.cleaned(text)
