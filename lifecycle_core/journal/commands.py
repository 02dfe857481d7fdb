"""Idempotent commands: an answer is remembered in the transaction of the change that it is about."""

import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal.sql import Run, Statement, as_uuid

BEGIN: Final = Statement(
    "INSERT INTO journal_commandrow (tenant, actor, key, body_digest, response, created_at) VALUES (%s, %s, %s, %s, '', %s)"
    " ON CONFLICT DO NOTHING"
)
END: Final = Statement(
    "UPDATE journal_commandrow SET response = %s WHERE tenant = %s AND actor = %s AND key = %s"
)
READ: Final = Statement(
    "SELECT body_digest, response FROM journal_commandrow WHERE tenant = %s AND actor = %s AND key = %s"
)
SPEAKS_OF: Final = Statement(
    "INSERT INTO journal_commanddelivery (delivery_id, tenant, actor, key) VALUES (%s, %s, %s, %s)"
)

_touched: ContextVar[set[UUID] | None] = ContextVar("journal_touched", default=None)


class Name(NamedTuple):
    """What tells commands apart."""

    tenant: str
    actor: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A stored answer."""

    response: Json


def answered(run: Run, name: Name, body_digest: str) -> Answer | None:
    """Return the stored answer, if there is one. Raises `errors.KeyReused` when it answers another body."""
    row = run(READ, name).fetchone()
    if row is None:
        return None
    if row[0] != body_digest:
        raise errors.KeyReused
    return Answer(response=json.loads(row[1]))


def once(run: Run, name: Name, body_digest: str, carry_out: Callable[[], Json], at_ms: int) -> Json:
    """Carry a command out, or return what it was answered; a second sender of the key waits here for the first."""
    if run(BEGIN, (*name, body_digest, at_ms)).rowcount != 1:
        answer = answered(run, name, body_digest)
        # It is gone again when the delivery that it spoke of was retired a moment ago.
        return answer.response if answer else once(run, name, body_digest, carry_out, at_ms)
    spoken_of: set[UUID] = set()
    token = _touched.set(spoken_of)
    try:
        response = carry_out()
    finally:
        _touched.reset(token)
    run(END, (digests.canonical(response).decode(), *name))
    for delivery in sorted(spoken_of):
        run(SPEAKS_OF, (delivery, *name))
    return response


def is_running() -> bool:
    """Tell whether a command is being carried out here, whose transaction may hold several transitions."""
    return _touched.get() is not None


def touch(delivery: UUID | str) -> None:
    """Note that the command that is being carried out speaks of a delivery."""
    spoken_of = _touched.get()
    if spoken_of is not None:
        spoken_of.add(as_uuid(delivery))


def forget(delivery: UUID) -> None:
    """Note that a delivery that the running command spoke of is gone."""
    spoken_of = _touched.get()
    if spoken_of is not None:
        spoken_of.discard(delivery)
