"""What a worker has learned and not yet committed.

Facts and session messages are collected and committed together, always before anything is dispatched to the world: so a tool
call costs two commits, and nothing happens outside that the journal does not know to be intended.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import (
    Appended,
    Change,
    Claim,
    Clock,
    InvocationRecord,
    Journal,
    SessionMessages,
    TurnInterrupted,
)
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import machine

log = logging.getLogger(__name__)

_WORTH_KEEPING_LATE: Final = (
    events.ToolAttempted,
    events.ToolCompleted,
    events.InvocationCompleted,
    events.InvocationFailed,
    events.InvocationInvalidated,
    events.ModelResponded,
)


class LedgerClosed(TurnInterrupted):
    """The invocation has ended or another worker holds it: this worker writes nothing more."""


class LedgerBroken(Exception):
    """Something that happened could not be written, for a reason that says nothing about it: this worker must not go on.

    Whoever takes the invocation up reads in the journal what is known, as after the sudden end of a worker.
    """


class Ledger:
    """Collect the facts of one worker's work on one invocation, under one lease."""

    def __init__(self, journal: Journal, clock: Clock, record: InvocationRecord) -> None:
        self._journal = journal
        self._clock = clock
        self._invocation = record.id
        self._actor = f"agent:{record.agent}"
        self._facts: list[Event] = []
        self._messages: list[bytes] = []
        self._affinity = record.affinity
        self._session_length = 0
        self._claim: Claim | None = None
        self.broken = False
        self.gave_up = False
        self.status: Status = record.status
        self.token = record.token
        self.redact: Callable[[Any], Any] = lambda value: value
        self.redact_message: Callable[[bytes], bytes] = lambda message: message

    @property
    def next_token(self) -> int:
        """Return the fencing token under which the next commit stands."""
        return self.token if self._claim is None else self._claim.seen_token + 1

    @property
    def holds_lease(self) -> bool:
        """Tell whether the lease is committed, and not only to be taken with the next commit, or given up already."""
        return self._claim is None and not self.gave_up

    def claim(self, worker: str, ttl_ms: int) -> None:
        """Take the lease with the next commit."""
        self._claim = Claim(worker=worker, ttl_ms=ttl_ms, seen_token=self.token)

    @property
    def asked(self) -> list[str]:
        """Return the requests among the facts that are not yet committed."""
        asked = [
            fact for fact in self._facts if isinstance(fact, events.ApprovalRequested | events.InputRequested)
        ]
        return [fact.approval if isinstance(fact, events.ApprovalRequested) else fact.input for fact in asked]

    @property
    def settled(self) -> set[str]:
        """Return the calls whose results are among the facts that are not yet committed."""
        return {fact.call for fact in self._facts if isinstance(fact, events.ToolCompleted)}

    def follow(self, affinity: str, length: int) -> None:
        """Append the session messages that follow to the session of an affinity, which holds `length` of them."""
        self._affinity, self._session_length = affinity, length

    def note(self, *facts: Event) -> None:
        """Remember facts for the next commit, without any leased secret."""
        self._facts += [type(fact).of(self.redact(fact.payload())) for fact in facts]

    def keep(self, message: bytes) -> None:
        """Remember a session message for the next commit, without any leased secret."""
        self._messages.append(self.redact_message(message))

    def commit(self, *, release: bool = False) -> None:
        """Write what was collected in one transaction.

        Raises `LedgerClosed` when the invocation has ended or another worker holds it; what was collected is then kept as late
        facts, where it tells something. Raises `errors.StatusConflict` when the invocation is where it was and only the facts
        no longer fit, because somebody decided meanwhile what they speak of. Raises `LedgerBroken` once anything was lost.
        """
        if self.broken:
            raise LedgerBroken
        facts, bodies = tuple(self._facts), tuple(self._messages)
        if not facts:
            return  # Messages alone tell nothing; they go with the next fact.
        self._facts, self._messages = [], []
        try:
            appended = self._append(facts, bodies, release)
        except (errors.StatusConflict, errors.LeaseLost, errors.NotFound) as cause:
            if self._only_facts_are_late(cause):
                raise
            self._keep_late(facts)
            raise LedgerClosed from cause
        except errors.Refused:
            raise
        except BaseException:
            self.broken = True
            raise
        self._claim, self.gave_up = None, release
        self.status, self.token = appended.status, appended.token
        self._session_length += len(bodies)

    def add_behind(self) -> None:
        """Keep what was noted after the lease was given up, which says nothing of the invocation's state: facts of plugins."""
        facts = tuple(fact for fact in self._facts if isinstance(fact, events.EXTENSIONS))
        self._facts = []
        self._keep_behind(facts)

    def check(self) -> None:
        """Raise `LedgerClosed` when the invocation has ended or another worker holds it; what was collected is kept late."""
        try:
            now = self._journal.place(self._invocation)
        except errors.NotFound as cause:
            raise LedgerClosed from cause
        if (now.status, now.token) != (self.status, self.token):
            facts, self._facts, self._messages = tuple(self._facts), [], []
            self._keep_late(facts)
            raise LedgerClosed

    def _only_facts_are_late(self, cause: errors.Refused) -> bool:
        """Tell whether the invocation is where it was; at its start it means that another one has bound the session first."""
        stays = isinstance(cause, errors.StatusConflict) and cause.status == self.status
        return stays and self.status is not Status.STARTING

    def _append(self, facts: tuple[Event, ...], bodies: tuple[bytes, ...], release: bool) -> Appended:
        messages = SessionMessages(affinity=self._affinity, start=self._session_length, bodies=bodies)
        return self._journal.append(
            Change(
                invocation=self._invocation,
                actor=self._actor,
                at_ms=self._clock.now_ms(),
                transitions=machine.transitions(facts, {self.status}),
                events=facts,
                token=None if self._claim else self.token,
                claim=self._claim,
                release=release,
                messages=messages if bodies else None,
            )
        )

    def _keep_late(self, facts: tuple[Event, ...]) -> None:
        late = tuple(
            events.LateResult(what=fact.kind, detail=fact.payload())
            for fact in facts
            if isinstance(fact, _WORTH_KEEPING_LATE)
        )
        self._keep_behind(late)

    def _keep_behind(self, facts: tuple[Event, ...]) -> None:
        """Append facts that change nothing, wherever the invocation is by now."""
        if not facts:
            return
        change = Change(
            invocation=self._invocation,
            actor=self._actor,
            at_ms=self._clock.now_ms(),
            transitions=machine.transitions(facts, Status),
            events=facts,
        )
        try:
            self._journal.append(change)
        except errors.Refused as refusal:
            # Retired meanwhile: what came late has no journal to be kept in.
            log.warning("late facts of %s dropped: %s", self._invocation, refusal)
