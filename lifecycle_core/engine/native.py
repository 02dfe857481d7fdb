"""Run a provider's turn: open or exactly restore the native session, under a credential that is leased for this turn alone."""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import replace

from lifecycle_core.contract import errors, events, identities, stages
from lifecycle_core.contract.ports import (
    Begin,
    CredentialLease,
    ModelRoute,
    NativeSession,
    ProviderFailed,
    Resume,
    SessionRequest,
    TurnInput,
    TurnInterrupted,
    TurnSuspended,
)
from lifecycle_core.contract.subjects import Moment, Passing
from lifecycle_core.engine import binding, leases
from lifecycle_core.engine.carrier import TurnCarrier
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.ledger import LedgerClosed
from lifecycle_core.engine.turn import PROTOCOL_ERROR, Turn

log = logging.getLogger(__name__)


class SessionLost(Exception):
    """The exact session could not be restored."""

    def __init__(self, detail: str, *, reason: str = "CHILD_UNREACHABLE") -> None:
        super().__init__(detail)
        self.reason = reason


class OpenFailed(Exception):
    """A fresh session could not be opened."""


def begin(episode: Episode, outcome: Turn, lease: CredentialLease | None) -> bool:
    """Run the first turn of an episode; tell whether a call waits for people."""
    action = episode.agent.actions[episode.record.action]
    first = Begin(purpose=action.purpose, input=episode.record.dispatch["input"])
    return _run(episode, outcome, first, lease)


def resume(episode: Episode, outcome: Turn, results: Resume, lease: CredentialLease | None) -> bool:
    """Go on with the session of an episode; tell whether a call waits for people."""
    return _run(episode, outcome, results, lease)


def _run(episode: Episode, outcome: Turn, turn_input: TurnInput, lease: CredentialLease | None) -> bool:
    if lease is None:
        refusal = errors.CredentialAcquisitionFailed()
        outcome.fail("CREDENTIAL_UNAVAILABLE", refusal.sentence, retry="new-attempt")
        return False
    attempt = Passing(
        identity=episode.identity, trusted=episode.trusted, resumed=isinstance(turn_input, Resume)
    )
    episode.chain.show(Moment(stage=stages.ATTEMPT_RUN, when="before", subject=attempt))
    try:
        with _session(episode) as session:
            return _drive(episode, outcome, session, turn_input, lease)
    except errors.ProviderNotImplemented as refusal:
        outcome.fail("PROVIDER_NOT_IMPLEMENTED", refusal.sentence, retry="never")
    except (errors.ModelBindingMismatch, errors.ExecutorBindingMismatch) as refusal:
        outcome.fail(PROTOCOL_ERROR, str(refusal), retry="never")
    except OpenFailed as failed:
        outcome.fail(PROTOCOL_ERROR, str(failed), retry="new-attempt")
    except SessionLost as lost:
        outcome.lose(str(lost), reason=lost.reason)
    except LedgerClosed:
        raise
    except TurnInterrupted:
        pass  # It has no session, and the reason of the interruption decides.
    finally:
        episode.chain.show(Moment(stage=stages.ATTEMPT_RUN, when="after", subject=attempt))
    return False


def _drive(
    episode: Episode, outcome: Turn, session: NativeSession, turn_input: TurnInput, lease: CredentialLease
) -> bool:
    carrier = TurnCarrier(episode, outcome)
    try:
        session.run(turn_input, carrier, lease.material)
    except TurnSuspended:
        carrier.end()
        return True
    except LedgerClosed:
        carrier.end_step()
        raise
    except TurnInterrupted:
        pass  # What was collected so far decides.
    except Exception as fault:
        if episode.ledger.broken:
            raise  # It is no fault of the provider's, and nothing can be said of the turn now.
        # Whatever a provider raises is one failure of the provider (reference: seed-contracts 6).
        episode.log_fault(f"provider {episode.record.provider} failed")
        outcome.note(
            ProviderFailed(
                code=PROTOCOL_ERROR, detail=episode.redactor.text(f"{type(fault).__name__}: {fault}")
            )
        )
    carrier.end()
    return outcome.pending is not None


@contextlib.contextmanager
def _session(episode: Episode) -> Iterator[NativeSession]:
    with _watched(episode):
        session = _open_or_restore(episode)
    try:
        episode.interruption.watch(session.cancel)
        yield session
    finally:
        episode.interruption.watch(None)
        leases.give_back(session.dispose)


@contextlib.contextmanager
def _watched(episode: Episode) -> Iterator[None]:
    """Let what a provider waits for be stopped while it opens a session, and no longer."""
    try:
        yield
    finally:
        episode.interruption.watch(None)


def _open_or_restore(episode: Episode) -> NativeSession:
    """Open the session of a new affinity, or restore exactly the one that the affinity is bound to.

    Under a lease that is durable, so that nobody retires the delivery or restores the session meanwhile, and not for an
    invocation that was cancelled or taken over (reference: seed-contracts 19.6).
    """
    if not episode.ledger.holds_lease:
        episode.ledger.commit()
    episode.ledger.check()
    affinity, route = _affinity(episode), binding.route(episode)
    bound = episode.services.journal.affinity(episode.record.tenant, affinity)
    if bound is None:
        return _open(episode, _request(episode, affinity, route))
    opaque_identity, generation = bound
    messages = episode.services.journal.messages(episode.record.tenant, affinity)
    exact = replace(_request(episode, affinity, route), opaque_identity=opaque_identity, messages=messages)
    return _restore(episode, exact, generation)


def _open(episode: Episode, request: SessionRequest) -> NativeSession:
    try:
        session = episode.services.provider(episode.record.provider).open(request)
    except errors.ProviderNotImplemented:
        raise
    except Exception as fault:
        _leave_if_interrupted(episode, fault)
        episode.log_fault(f"provider {episode.record.provider} could not open a session")
        raise OpenFailed(episode.redactor.text(f"{type(fault).__name__}: {fault}")) from fault
    episode.session = session.opaque_identity
    episode.ledger.follow(request.affinity, 0)
    episode.ledger.note(
        events.SessionOpened(
            binding=identities.session_binding(request.affinity, session.opaque_identity),
            affinity=request.affinity,
            opaque_identity=session.opaque_identity,
            generation=1,
        )
    )
    return session


def _restore(episode: Episode, request: SessionRequest, generation: int) -> NativeSession:
    try:
        session = episode.services.provider(episode.record.provider).restore(request)
    except errors.ProviderNotImplemented:
        raise
    except Exception as fault:
        _leave_if_interrupted(episode, fault)
        episode.log_fault(f"provider {episode.record.provider} could not restore a session")
        why = episode.redactor.text(f"{type(fault).__name__}: {fault}")
        raise SessionLost(f"the session could not be restored: {why}") from fault
    if session.opaque_identity != request.opaque_identity:
        leases.give_back(session.dispose)
        raise SessionLost("another session came back", reason="CALL_INTERRUPTED")
    episode.session = request.opaque_identity
    episode.ledger.follow(request.affinity, len(request.messages))
    episode.ledger.note(
        events.SessionRestored(
            binding=identities.session_binding(request.affinity, request.opaque_identity),
            affinity=request.affinity,
            opaque_identity=request.opaque_identity,
            generation=generation + 1,
        )
    )
    return session


def _leave_if_interrupted(episode: Episode, fault: Exception) -> None:
    """Raise `TurnInterrupted` for what was stopped from outside: it says nothing about the provider or the session."""
    if episode.interruption():
        raise TurnInterrupted from fault


def _request(episode: Episode, affinity: str, route: ModelRoute) -> SessionRequest:
    return SessionRequest(
        tenant=episode.record.tenant,
        affinity=affinity,
        opaque_identity="",
        route=route,
        instructions=binding.instructions(episode),
        tools=episode.offered(),
        on_interrupt=episode.interruption.watch,
    )


def _affinity(episode: Episode) -> str:
    session = episode.record.dispatch["session"]
    if not isinstance(session, dict):
        raise errors.CorrelationMismatch
    return str(session["identity"])
