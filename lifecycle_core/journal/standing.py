"""Where an invocation stands inside one transaction: the locked row, what the events make of it, and how it is written back."""

import dataclasses
import operator
from dataclasses import dataclass
from typing import Final, NamedTuple, Self
from uuid import UUID

from lifecycle_core.contract import errors
from lifecycle_core.contract.status import TERMINAL, WORKING, Status
from lifecycle_core.journal.blobs import Folder
from lifecycle_core.journal.sql import Result, Run, Statement


@dataclass(kw_only=True, slots=True)
class Standing:
    """The columns of an invocation that transitions read (the first five) and write (the rest).

    `delivery_id` is as the driver gives it, since it only goes back there.
    """

    id: UUID
    tenant: str
    delivery_id: UUID | str
    affinity: str
    provider: str
    status: Status
    disposition: str | None = None
    version: int = 0
    chain_head: str
    worker: str = ""
    token: int = 0
    lease_expires_at: int = 0
    ready: bool = True
    open_requests: int = 0
    model_turns: int = 0
    tool_calls: int = 0
    tokens: int = 0
    output_sequence: int = 0
    session: str = ""
    generation: int = 0


COLUMNS: Final = tuple(field.name for field in dataclasses.fields(Standing))
READ_ONLY: Final = 5
WRITTEN: Final = COLUMNS[READ_ONLY:]
INDEXED: Final = frozenset({"status", "lease_expires_at", "ready"})
QUIET: Final = tuple(name for name in WRITTEN if name not in INDEXED)


def _update(columns: tuple[str, ...]) -> Statement:
    setting = ", ".join(f"{name} = %s" for name in columns)
    where = "id = %s AND status = %s AND version = %s"
    return Statement(f"UPDATE journal_invocation SET {setting}, updated_at = %s WHERE {where}")  # noqa: S608


LOCK: Final = Statement(
    f"SELECT {', '.join(COLUMNS)} FROM journal_invocation WHERE id = %s FOR NO KEY UPDATE"  # noqa: S608
)
WRITE: Final = _update(WRITTEN)
# SQLite writes the page of every index that has a column of the statement, whether its value changes or not.
WRITE_QUIETLY: Final = _update(QUIET)
OPEN_CALLS: Final = Statement(
    "SELECT state, count(*) FROM journal_toolcall "
    "WHERE invocation_id = %s AND model_turn = %s AND state <> 'settled' GROUP BY state"
)
written: Final = operator.attrgetter(*WRITTEN)
written_quietly: Final = operator.attrgetter(*QUIET)


class Before(NamedTuple):
    """How a row was when it was locked, as far as writing it back depends on that."""

    status: Status
    version: int
    lease_expires_at: int
    ready: bool

    @classmethod
    def of(cls, standing: Standing) -> Self:
        return cls(standing.status, standing.version, standing.lease_expires_at, standing.ready)


@dataclass(kw_only=True, slots=True)
class Work:
    """What a projection works with: the statements' connection, the standing so far, the time, and the large values."""

    run: Run
    standing: Standing
    at: int
    folder: Folder

    def conflict(self) -> errors.StatusConflict:
        """Return the refusal of a change that no longer fits."""
        return errors.StatusConflict(status=self.standing.status)

    def one(self, result: Result) -> None:
        """Refuse the change unless a statement changed exactly one row."""
        if result.rowcount != 1:
            raise self.conflict()


def lock(run: Run, invocation: UUID) -> Standing:
    """Lock the row of an invocation and return it. Raises `errors.NotFound`."""
    standing = find(run, invocation)
    if standing is None:
        raise errors.NotFound
    return standing


def find(run: Run, invocation: UUID) -> Standing | None:
    """Lock the row of an invocation, if it is there, and return it."""
    row = run(LOCK, (invocation,)).fetchone()
    if row is None:
        return None
    standing = Standing(**dict(zip(COLUMNS, row, strict=True)))
    standing.id, standing.status = invocation, Status(standing.status)
    return standing


def settle(work: Work, status: Status, *, release: bool) -> None:
    """Take the next status, and see who may hold the invocation now."""
    standing = work.standing
    standing.status = status
    if release or _is_left(standing, work.at):
        standing.worker, standing.lease_expires_at = "", 0
    if status in TERMINAL and standing.open_requests:
        raise RuntimeError("An invocation cannot end while requests are open: close them in the same change.")
    standing.ready = _has_work(work)


def _is_left(standing: Standing, at: int) -> bool:
    """Tell whether no worker has an invocation in its hands; one that is ended from outside stays where it is until its worker
    has left it, or the lease has run out.
    """
    ended = standing.status in TERMINAL
    return standing.lease_expires_at <= at if ended else standing.status not in WORKING


def write(work: Work, before: Before) -> None:
    """Write the standing back, if the row is still as it was. Raises `errors.StatusConflict`."""
    now, where = work.standing, (work.at, work.standing.id, before.status, before.version)
    if before == Before.of(now)._replace(version=before.version):
        changed = work.run(WRITE_QUIETLY, (*written_quietly(now), *where))
    else:
        changed = work.run(WRITE, (*written(now), *where))
    if changed.rowcount != 1:
        raise errors.StatusConflict(status=before.status)


def _has_work(work: Work) -> bool:
    """Tell whether a worker has something to do and nobody does it."""
    standing = work.standing
    if standing.status in WORKING:
        return standing.lease_expires_at == 0
    if standing.status is not Status.AWAITING_INPUT:
        return False
    calls: dict[str, int] = dict(work.run(OPEN_CALLS, (standing.id, standing.model_turns)).fetchall())
    answered = calls.get("waiting", 0) > standing.open_requests
    return "approved" in calls or answered or (not calls and not standing.open_requests)
