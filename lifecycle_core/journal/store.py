"""The store: the only code that writes the journal.

Rule 1: a transition is one call of `append`, and one transaction. It locks the invocation's row, sees whether the change fits
(status, fencing token, lease), lets the events change their projections, writes the row back on condition that nobody else did,
takes the feed's head, and inserts the events with their final numbers. Whatever does not fit raises, and nothing has happened.

Rule 2: the store does not know which status may follow which. The engine's table says so, and comes with the change.

Rule 3: locks are taken in one order: command, delivery, invocation, its requests and session, and the feed's head as the last.
The head's row lock is held to the commit, so the order of positions is the order of commits: who reads on from a position
misses nothing. A rollback takes its numbers back, so neither `seq` nor `position` has a gap that retirement did not make.

Rule 4: hints go out after the commit and carry no facts. Losing one costs time, nothing else.

Rule 5: nothing here reaches a file, a network or a clock; times come with the change.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from django.db import connections, transaction

from lifecycle_core.contract import digests, errors, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.status import TERMINAL, WORKING, Status
from lifecycle_core.journal import (
    blobs,
    chain,
    commands,
    deliveries,
    feed_head,
    projections,
    records,
    retirement,
    standing,
    work_queue,
)
from lifecycle_core.journal.sql import Run, Statement, runner
from lifecycle_core.journal.sqlite import checkpoint
from lifecycle_core.journal.standing import Standing, Work

type Hint = Callable[[str, int], None]

ADMIT: Final = Statement(
    "INSERT INTO journal_invocation (id, tenant, delivery_id, affinity, provider, status, version, chain_head, worker,"
    " token, lease_expires_at, ready, open_requests, model_turns, tool_calls, tokens, output_sequence, session, generation,"
    " parent, episode, agent, agent_binding, action, model, attempt, requester, created_at, updated_at)"
    " VALUES (%s, %s, %s, %s, %s, %s, 0, %s, '', 0, 0, %s, 0, 0, 0, 0, 0, '', 0,"
    " %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
)
DISPATCH: Final = Statement("INSERT INTO journal_dispatchrow (invocation_id, body) VALUES (%s, %s)")
RENEW: Final = Statement(
    "UPDATE journal_invocation SET lease_expires_at = %s WHERE id = %s AND token = %s AND worker <> ''"
)
RELEASE: Final = Statement("UPDATE journal_invocation SET worker = '', lease_expires_at = 0 WHERE id = %s")
VOID_LEASES: Final = Statement(
    "UPDATE journal_invocation SET lease_expires_at = %s WHERE lease_expires_at > %s"
)
SESSION_LENGTHENED: Final = Statement(
    "UPDATE journal_session SET length = length + %s WHERE tenant = %s AND affinity = %s AND length = %s RETURNING id"
)
MESSAGE: Final = Statement(
    'INSERT INTO journal_sessionmessage (session_id, "index", body, blob) VALUES (%s, %s, %s, %s)'
)


class Store:
    """Be the engine's journal (`contract.ports.Journal`) on Django's default database, and what a host needs around it."""

    def __init__(
        self, *, hint: Hint | None = None, limits: blobs.Limits = blobs.DEFAULT, using: str = "default"
    ) -> None:
        """Give `hint(tenant, position)` to be called after each commit."""
        self._hint = hint
        self._limits = limits
        self._using = using

    # ------------------------------------------------------------------------------------------------------- writing

    def admit(self, new: ports.NewInvocation, event: Event, *, status: Status, at_ms: int) -> ports.Appended:
        """Create the delivery when new, and the invocation.

        Raises `errors.DeliveryConflict`, `errors.DeliveryRetired`, `errors.CorrelationMismatch` (the episode exists) and
        `errors.SessionAffinityMismatch` (the session is another's).
        """
        with self._writing() as run:
            delivery = deliveries.hold(run, new, at_ms)
            work = self._work(run, _newborn(new, delivery, status), at_ms)
            if run(ADMIT, _admission(work.standing, new, at_ms)).rowcount != 1:
                raise errors.CorrelationMismatch
            projections.sessions.reserve(work, new.dispatch.session)
            run(DISPATCH, (new.id, work.folder.value(new.dispatch.as_json())))
            before = standing.Before.of(work.standing)
            standing.settle(work, status, release=False)
            return self._finish(work, (event,), new.requester, before=before)

    def append(self, change: ports.Change) -> ports.Appended:
        """Make one transition. Raises what `contract.ports.Change` says, and `errors.NotFound`."""
        with self._writing() as run:
            if commands.is_running():
                deliveries.hold_with_invocations(run, change.invocation)
            work = self._work(run, standing.lock(run, change.invocation), change.at_ms)
            before = standing.Before.of(work.standing)
            status = _allowed(work.standing, change)
            for event in change.events:
                projections.apply(work, event)
            if change.messages:
                _keep(work, change.messages)
            standing.settle(work, status, release=change.release)
            projections.sessions.give_back(run, work.standing)
            return self._finish(work, change.events, change.actor, before=before)

    def hold(self, delivery: UUID) -> list[UUID]:
        """Lock a delivery with its invocations, which are returned, until the surrounding transaction ends."""
        with self._writing() as run:
            return deliveries.hold_all(run, delivery)

    def renew(self, invocation: UUID, token: int, ttl_ms: int, now_ms: int) -> bool:
        """Prolong a lease; false when it is lost or was given up."""
        with self._writing() as run:
            return run(RENEW, (now_ms + ttl_ms, invocation, token)).rowcount == 1

    def release(self, invocation: UUID, token: int) -> None:
        """Give up the lease of an invocation that has ended, and its session with it; whoever waits for that is woken.

        Nothing happens where the invocation is gone, has not ended, or the lease is not that of the token.
        """
        with self._writing() as run:
            row = standing.find(run, invocation)
            if row is None or row.status not in TERMINAL or row.token != token or not row.worker:
                return
            row.worker = ""
            run(RELEASE, (invocation,))
            projections.sessions.give_back(run, row)
            self._tell(row.tenant, feed_head.position(run, row.tenant))

    def retire(
        self,
        tenant: str,
        delivery: UUID,
        *,
        authorization: str,
        by: str,
        at_ms: int,
        manifest_binding: str | None = None,
        activation_binding: str | None = None,
    ) -> UUID:
        """Delete a delivery with all that belongs to it, and return the tombstone that remains.

        Raises `errors.NotFound`, `errors.RetirementNotAuthorized` (bindings that are not the delivery's, or another
        authorization than the one it was retired with) and `errors.DeliveryBusy`.
        """
        order = retirement.Order(
            tenant, delivery, authorization, by, at_ms, manifest_binding, activation_binding
        )
        with self._writing() as run:
            position = retirement.retire(run, order)
            if position is not None:
                self._tell(tenant, position)
                clean = functools.partial(checkpoint.truncate, connections[self._using])
                transaction.on_commit(clean, using=self._using, robust=True)
        return delivery

    def once(
        self, tenant: str, actor: str, command: ports.Command, run: Callable[[], Json], *, at_ms: int
    ) -> Json:
        """Carry out a command once: `run` and the memory of its answer are one transaction.

        The same key and body get the stored answer and run nothing, also when both come at once. What `run` refuses is not
        remembered. Raises `errors.KeyReused`.
        """
        name = commands.Name(tenant, actor, command.key)
        with self._writing() as write:
            return commands.once(write, name, command.body_digest, run, at_ms)

    # ------------------------------------------------------------------------------------------------------- reading

    def answered(self, tenant: str, actor: str, command: ports.Command) -> commands.Answer | None:
        """Return the stored answer of a command, if it was carried out. Raises `errors.KeyReused`."""
        name = commands.Name(tenant, actor, command.key)
        with self._reading() as run:
            return commands.answered(run, name, command.body_digest)

    def load(self, invocation: UUID) -> ports.InvocationRecord:
        """Return where an invocation stands. Raises `errors.NotFound`."""
        with self._reading() as run:
            return records.load(run, invocation)

    def place(self, invocation: UUID) -> ports.Place:
        """Return where an invocation stands, also one whose input cannot be read. Raises `errors.NotFound`."""
        with self._reading() as run:
            return records.place(run, invocation)

    def calls(self, invocation: UUID, model_turn: int) -> list[ports.CallRecord]:
        """Return the calls of one model turn, in order. Raises `errors.NotFound`."""
        with self._reading() as run:
            return records.calls(run, invocation, model_turn)

    def affinity(self, tenant: str, affinity: str) -> tuple[str, int] | None:
        """Return the opaque identity and generation bound to an affinity, or nothing."""
        with self._reading() as run:
            return records.affinity(run, tenant, affinity)

    def messages(self, tenant: str, affinity: str) -> tuple[bytes, ...]:
        """Return the kept messages of a native session, in order."""
        with self._reading() as run:
            return records.messages(run, tenant, affinity)

    def open_requests(self, invocation: UUID) -> list[ports.OpenRequest]:
        """Return the requests of an invocation that nobody has answered, oldest first."""
        with self._reading() as run:
            return records.open_requests(run, invocation)

    def question(self, invocation: UUID) -> ports.Question | None:
        """Return what an invocation asks people, if it asks."""
        with self._reading() as run:
            return records.question(run, invocation)

    def void_leases(self, now_ms: int) -> int:
        """End every live lease, for a process that is sure to be the only one that runs turns; return how many."""
        with self._writing() as run:
            return run(VOID_LEASES, (now_ms, now_ms)).rowcount

    def claimable(self, now_ms: int, limit: int, tenant: str | None = None) -> list[work_queue.Claimable]:
        """Return invocations that a worker may claim now, longest waiting first."""
        with self._reading() as run:
            return work_queue.claimable(run, now_ms, limit, tenant)

    def expired_requests(self, now_ms: int, limit: int) -> list[work_queue.Expired]:
        """Return open requests whose time has passed, the oldest first."""
        with self._reading() as run:
            return work_queue.expired(run, now_ms, limit)

    # ------------------------------------------------------------------------------------------------------ together

    def _run(self) -> Run:
        return runner(connections[self._using])

    @contextmanager
    def _writing(self) -> Iterator[Run]:
        with transaction.atomic(using=self._using), self._reading() as run:
            yield run

    @contextmanager
    def _reading(self) -> Iterator[Run]:
        with connections[self._using].wrap_database_errors:
            yield self._run()

    def _work(self, run: Run, row: Standing, at_ms: int) -> Work:
        return Work(run=run, standing=row, at=at_ms, folder=blobs.Folder(limits=self._limits))

    def _finish(
        self, work: Work, happened: Sequence[Event], actor: str, *, before: standing.Before
    ) -> ports.Appended:
        """Number the events, write the row and everything that was collected, and send the hint after the commit."""
        row = work.standing
        rows = _numbered(work, happened, actor)
        work.folder.flush(work.run, row.delivery_id)
        standing.write(work, before)
        commands.touch(row.delivery_id)
        position = feed_head.add(work.run, rows)
        self._tell(row.tenant, position)
        return ports.Appended(status=row.status, version=row.version, position=position, token=row.token)

    def _tell(self, tenant: str, position: int) -> None:
        if self._hint:
            transaction.on_commit(
                functools.partial(self._hint, tenant, position), using=self._using, robust=True
            )


def _numbered(work: Work, happened: Sequence[Event], actor: str) -> list[feed_head.EventRow]:
    """Give the events their seqs and hashes; returns their rows without the position."""
    row, rows = work.standing, list[feed_head.EventRow]()
    journal = chain.Journal(str(row.id), actor)
    for event in happened:
        payload = event.payload()
        content = digests.canonical(payload)
        row.version += 1
        row.chain_head = journal.link(row.chain_head, row.version, event.kind, work.at, content)
        stored = work.folder.payload(payload, content)
        rows.append((row.tenant, row.id, row.version, event.kind, work.at, actor, stored, row.chain_head))
    return rows


def _allowed(row: Standing, change: ports.Change) -> Status:
    """Check status, version, fencing token and claim, and take the lease that is claimed; returns the next status."""
    if not change.events:
        raise ValueError("A change without events changes nothing.")
    if change.claim and not change.release and not WORKING.issuperset(change.transitions.values()):
        raise ValueError("A lease that is kept is held only while an invocation starts or runs.")
    if row.status not in change.transitions:
        raise errors.StatusConflict(status=row.status)
    if change.version is not None and change.version != row.version:
        raise errors.StatusConflict(status=row.status)
    if change.token is not None and (change.token != row.token or not row.worker):
        raise errors.LeaseLost
    if change.claim:
        _claim(row, change.claim, change.at_ms)
    return change.transitions[row.status]


def _claim(row: Standing, claim: ports.Claim, at_ms: int) -> None:
    if claim.seen_token != row.token or row.lease_expires_at > at_ms:
        raise errors.LeaseLost
    row.worker, row.token, row.lease_expires_at = claim.worker, row.token + 1, at_ms + claim.ttl_ms


def _keep(work: Work, kept: ports.SessionMessages) -> None:
    """Append messages to a native session that is as long as their sender thinks. Raises `errors.LeaseLost`."""
    where = (len(kept.bodies), work.standing.tenant, kept.affinity, kept.start)
    row = work.run(SESSION_LENGTHENED, where).fetchone()
    if row is None:
        raise errors.LeaseLost
    for index, body in enumerate(kept.bodies, kept.start):
        work.run(MESSAGE, (row[0], index, *work.folder.message(body)))


def _newborn(new: ports.NewInvocation, delivery: UUID, status: Status) -> Standing:
    return Standing(
        id=new.id,
        tenant=new.tenant,
        delivery_id=delivery,
        affinity=new.dispatch.session.identity,
        provider=new.provider,
        status=status,
        chain_head=chain.origin(str(new.id)),
    )


def _admission(row: Standing, new: ports.NewInvocation, at_ms: int) -> tuple[object, ...]:
    episode = new.dispatch.episode
    identity = digests.digest([episode.thread.as_json(), episode.invocation, episode.attempt])
    place = (
        row.id,
        row.tenant,
        row.delivery_id,
        row.affinity,
        row.provider,
        row.status,
        row.chain_head,
        row.ready,
    )
    agent = (new.agent, new.agent_binding, new.action, new.model, new.attempt, new.requester)
    return (*place, new.parent, identity, *agent, at_ms, at_ms)
