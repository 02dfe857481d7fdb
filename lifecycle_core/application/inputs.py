"""Answer or decline what an agent asks people."""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from lifecycle_core.application import bootstrap, calls, cleaning, commands, permissions, queries
from lifecycle_core.application.reading import inputs as rows
from lifecycle_core.application.resources import InputItem
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.engine import inputs, requests
from lifecycle_core.journal.models import InputRequest


class Closing(NamedTuple):
    """How somebody wants to close a question."""

    state: str
    kind: str = ""
    content_identity: str = ""


def answer(
    actor: Actor,
    input: UUID,
    *,
    content: Json,
    kind: inputs.ResponseKind = "ANSWER",
    request_identity: str | None = None,
    content_identity: str | None = None,
    key: str | None = None,
) -> InputItem:
    """Answer a question. It is checked first, so that a wrong answer leaves the question open.

    `request_identity` and `content_identity` are checked where they are given (`errors.CorrelationMismatch`). Raises
    `errors.SchemaInvalid`, `errors.AlreadyDecided`, `errors.RequestExpired`, `errors.StatusConflict`,
    `errors.ValueTooLarge` for what the agent could not be told.
    """
    found = rows.row(actor, input)
    permissions.check_can_answer(actor)
    if request_identity not in (None, found.request_identity):
        raise errors.CorrelationMismatch
    if content_identity not in (None, digests.digest(content)):
        raise errors.CorrelationMismatch
    content = cleaning.value(found.invocation, content)
    body: Json = {"input": str(input), "kind": kind, "content": content}

    def resolve() -> None:
        item = queries.input(actor, found.pk)
        facts = inputs.answer(
            calls.of_request(found.invocation_id, found.call),
            input=item.id,
            request_identity=item.request_identity,
            response_schema=item.response_schema,
            by=actor.name,
            kind=kind,
            content=content,
        )
        requests.resolve(bootstrap.services(), found.invocation_id, facts, by=actor.name)

    def run() -> UUID:
        return _close(actor, found, Closing("answered", kind, digests.digest(content)), resolve)

    return queries.input(actor, commands.Command.of("answer", key, body).once(actor, run))


def decline(actor: Actor, input: UUID, *, reason: str = "", key: str | None = None) -> InputItem:
    """Close a question without an answer; the agent is told that a person declined."""
    found = rows.row(actor, input)
    permissions.check_can_answer(actor)
    reason = cleaning.text(found.invocation, reason)
    body: Json = {"input": str(input), "reason": reason}

    def resolve() -> None:
        asking = calls.of_request(found.invocation_id, found.call)
        facts = inputs.decline(asking, input=str(found.pk), by=actor.name, reason=reason)
        requests.resolve(bootstrap.services(), found.invocation_id, facts, by=actor.name)

    def run() -> UUID:
        return _close(actor, found, Closing("declined"), resolve)

    return queries.input(actor, commands.Command.of("decline", key, body).once(actor, run))


def _close(actor: Actor, found: InputRequest, wanted: Closing, resolve: Callable[[], None]) -> UUID:
    """Close a question, unless the same person has closed it just so."""
    try:
        if not _is_repeated(actor, found, wanted):
            resolve()
    except (errors.AlreadyDecided, errors.StatusConflict):
        # Somebody was first; perhaps it was he himself, a moment ago.
        if not _is_repeated(actor, rows.row(actor, found.pk), wanted):
            raise
    return found.pk


def _is_repeated(actor: Actor, found: InputRequest, wanted: Closing) -> bool:
    """Tell whether the same person repeats the same answer; refuse any other once the question is closed."""
    if found.state == "pending":
        return False
    closed = Closing(found.state, found.response_kind, found.content_identity)
    if (closed, found.closed_by) == (wanted, actor.name):
        return True
    if found.state == "expired":
        raise errors.RequestExpired
    raise errors.AlreadyDecided(state=found.state, by=found.closed_by, at_ms=found.closed_at or 0)
