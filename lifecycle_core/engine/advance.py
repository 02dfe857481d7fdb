"""Take one invocation as far as it goes: until it ends, waits for people, or the worker may no longer drive it.

Whatever made it move (started, decided, answered, recovered), the steps are the same: take the lease; give every call of the
last model turn that can have a result its result; if all have one, open or exactly restore the native session and let it run.
A worker that dies anywhere in here leaves a journal from which another one does the same.
"""

import logging
from typing import Final
from uuid import UUID

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.ports import CredentialLease, Resume, TurnInterrupted
from lifecycle_core.contract.status import ACTIVE, Status
from lifecycle_core.engine import endings, leases, native, settling, turn
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.engine.ledger import LedgerClosed
from lifecycle_core.engine.services import Services

log = logging.getLogger(__name__)

# Who is interrupted for these has nothing to say about how the invocation ended.
QUIET: Final = ("shutdown", "cancelled", "lease-lost")


def advance(services: Services, invocation: UUID, *, worker: str, interruption: Interruption) -> None:
    """Drive an invocation. Losing the lease or being cancelled ends this quietly; the journal tells why."""
    record = services.journal.load(invocation)
    if record.status not in ACTIVE:
        return
    episode = Episode.of(services, record, interruption)
    interruption.token = record.token + 1
    interruption.deadline_ms = services.clock.monotonic_ms() + episode.agent.limits.seconds * 1000
    try:
        try:
            _take_lease(episode, worker)
            _go_on(episode)
        except errors.Refused as refusal:
            _give_up(episode, worker, refusal)
    except LedgerClosed:
        log.info(
            "worker %s leaves invocation %s: %s", worker, invocation, interruption.reason or "lease lost"
        )
    if episode.ledger.holds_lease:
        # It was ended from outside, and its session is disposed of only now: the next one may have that.
        services.journal.release(invocation, episode.ledger.token)


def _take_lease(episode: Episode, worker: str) -> None:
    """Take the lease: at once, or with the commit that comes before anything is run or a session is touched."""
    ledger = episode.ledger
    ledger.claim(worker, episode.services.timing.lease_ms)
    if ledger.status is Status.AWAITING_INPUT:
        ledger.note(events.InvocationResumed(worker=worker, token=ledger.next_token))
        endings.resumed(episode)
        return
    recovered = ledger.status is Status.RUNNING
    ledger.note(events.InvocationClaimed(worker=worker, token=ledger.next_token, recovered=recovered))
    ledger.commit()


def _go_on(episode: Episode) -> None:
    outcome = turn.Turn()
    # One that became unknown before it had its session begins when it is resolved.
    starts = episode.ledger.status is Status.STARTING or not episode.record.session
    with leases.leased(episode) as lease:
        waits = native.begin(episode, outcome, lease) if starts else _continue(episode, outcome, lease)
    _end(episode, outcome, waits=waits)


def _continue(episode: Episode, outcome: turn.Turn, lease: CredentialLease | None) -> bool:
    """Settle the last model turn and, if nothing of it waits, let the session run; tell whether a call waits for people."""
    try:
        results = settling.settle(episode, outcome).values()
    except LedgerClosed:
        raise
    except TurnInterrupted:
        return False
    if None in results:
        return True
    if outcome.over:
        return False
    settled = Resume(results=tuple(settling.told(result) for result in results if result is not None))
    return native.resume(episode, outcome, settled, lease)


def _end(episode: Episode, outcome: turn.Turn, *, waits: bool) -> None:
    """Write how the turn ended, and give the lease up in the same commit."""
    if episode.interruption.reason in QUIET and not (outcome.uncertain or outcome.completions):
        episode.ledger.commit()
        return  # At a shutdown the lease stays as it is and is void at the next start, which goes on from here.
    if episode.interruption.reason == "time-limit":
        outcome.fail("PROVIDER_TIMED_OUT", "the time limit of the turn is reached", retry="new-attempt")
    waiting = (
        [request.id for request in episode.services.journal.open_requests(episode.record.id)] if waits else []
    )
    ended = turn.ending(
        outcome,
        waits=waits,
        open_requests=[*waiting, *episode.ledger.asked],
        interaction=episode.interaction,
        schema=episode.result_schema,
    )
    endings.end(episode, ended)


def _give_up(episode: Episode, worker: str, refusal: errors.Refused) -> None:
    """End an invocation of which something can never be kept; else every worker would try that again, for ever."""
    episode.log_fault(f"invocation {episode.record.id} cannot go on")
    if episode.ledger.status is Status.AWAITING_INPUT:
        token = episode.ledger.next_token
        episode.ledger.note(events.InvocationResumed(worker=worker, token=token))
    detail = f"something that happened could not be kept: {refusal}"
    endings.end(episode, events.InvocationFailed(code=turn.PROTOCOL_ERROR, retry="never", detail=detail))
