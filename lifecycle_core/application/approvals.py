"""Decide approvals. One conditional update decides; whoever comes second is told who decided what, and when."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from lifecycle_core.application import bootstrap, calls, cleaning, commands, permissions, queries
from lifecycle_core.application.reading import approvals as rows
from lifecycle_core.application.reading import stored
from lifecycle_core.application.reading.approval_rows import ApprovalRow
from lifecycle_core.application.resources import ApprovalItem
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.events import Decision, Event
from lifecycle_core.contract.ports import CallRecord
from lifecycle_core.engine import approvals, requests
from lifecycle_core.engine.episode import Episode
from lifecycle_core.engine.interruption import Interruption


class Missing:
    """Stand for an argument that was not given, which is not the same as null."""


MISSING: Final = Missing()
STATES: Final = {"approve": "approved", "edit": "edited", "reject": "rejected", "respond": "responded"}


def decide(
    actor: Actor,
    approval: UUID,
    *,
    decision: Decision,
    request_digest: str,
    arguments: Json | Missing = MISSING,
    reason: str = "",
    result: Json | Missing = MISSING,
    key: str | None = None,
) -> ApprovalItem:
    """Decide whether exactly the call behind a digest may run.

    The same person repeating the same decision gets the stored answer. Raises `errors.AlreadyDecided` with who, what and
    when, `errors.DigestMismatch` when something else is asked now, `errors.RequestExpired` (except to reject),
    `errors.SchemaInvalid` for an edit that does not fit the tool, `errors.ValueTooLarge` for what no message
    could tell the agent, `errors.StatusConflict` when the invocation has ended.
    """
    found = rows.row(actor, approval)
    permissions.check_can_decide(actor)
    choice = Choice(decision, request_digest, arguments, reason, result)
    choice.check_form()
    command = commands.Command.of("decide", key, {"approval": str(approval), **choice.as_json()})
    if not command.is_answered(actor):
        facts = _facts(actor, found, choice)
        command.once(actor, lambda: _resolve(actor, found, choice, facts))
    return queries.approval(actor, found.id)


@dataclass(frozen=True)
class Choice:
    """What somebody decides, on the question behind which digest."""

    decision: Decision
    request_digest: str
    arguments: Json | Missing
    reason: str
    result: Json | Missing

    def as_json(self) -> dict[str, Json]:
        """Return what tells one choice from another."""
        return {
            "decision": self.decision,
            "request_digest": self.request_digest,
            "arguments": None if isinstance(self.arguments, Missing) else self.arguments,
            "reason": self.reason,
            "result": None if isinstance(self.result, Missing) else self.result,
        }

    def check_form(self) -> None:
        """Refuse what is no decision, what a decision needs and lacks, and what it does not take."""
        if self.decision not in STATES:
            raise errors.SchemaInvalid(problems=[Problem("/decision", f"use one of {', '.join(STATES)}")])
        expected = {"edit": "arguments", "respond": "result"}.get(self.decision)
        for name, value in (("arguments", self.arguments), ("result", self.result)):
            given = not isinstance(value, Missing)
            if given != (name == expected):
                detail = f"a decision to {self.decision} takes {'no' if given else ''} {name}".replace(
                    "  ", " "
                )
                raise errors.SchemaInvalid(problems=[Problem(f"/{name}", detail)])

    def is_that_of(self, item: ApprovalItem) -> bool:
        """Tell whether a decided approval got what this choice would give it."""
        if self.decision == "edit":
            return digests.same(item.arguments, self.arguments)
        if self.decision == "respond":
            return item.result is not None and digests.same(item.result["content"], self.result)
        return True


def _resolve(actor: Actor, found: ApprovalRow, choice: Choice, facts: list[Event]) -> UUID:
    """Make the decision a fact, unless somebody was first."""
    try:
        if facts:
            requests.resolve(bootstrap.services(), found.invocation, facts, by=actor.name)
    except errors.AlreadyDecided:
        _raise_unless_repeated(actor, rows.row(actor, found.id), choice)
    return found.id


def _raise_unless_repeated(actor: Actor, found: ApprovalRow, choice: Choice) -> None:
    """Let a person repeat what he himself decided; tell everybody else who was first."""
    same = (STATES[choice.decision], actor.name, choice.request_digest)
    repeats = (found.state, found.closed_by, found.request_digest) == same
    if repeats and choice.is_that_of(queries.approval(actor, found.id)):
        return
    if found.state == "expired":
        raise errors.RequestExpired
    raise errors.AlreadyDecided(state=found.state, by=found.closed_by, at_ms=found.closed_at or 0)


def _facts(actor: Actor, found: ApprovalRow, choice: Choice) -> list[Event]:
    """Return what a decision would make true; nothing when the same person has already made it so."""
    if found.state != "pending":
        _raise_unless_repeated(actor, found, choice)
        return []
    if found.request_digest != choice.request_digest:
        raise errors.DigestMismatch
    pending = calls.of_turn(found.invocation, found.model_turn, found.call, found.status)
    if choice.decision != "reject" and not _shows_what_is_bound(found, pending):
        raise errors.DigestMismatch
    said = approvals.Said(
        approval=str(found.id), by=actor.name, request_digest=choice.request_digest, reason=choice.reason
    )
    arguments, result = choice.arguments, choice.result
    match choice.decision:
        case "approve" if not choice.reason:
            return approvals.approve(pending, said)
        case "approve":
            facts = approvals.approve(pending, said)
        case "edit" if not isinstance(arguments, Missing):
            record = bootstrap.journal().load(found.invocation)
            episode = Episode.of(bootstrap.services(), record, Interruption())
            facts = approvals.edit(episode, pending, said, arguments)
        case "respond" if not isinstance(result, Missing):
            facts = approvals.respond(pending, said, result)
        case _:
            facts = approvals.reject(pending, said)
    return cleaning.facts(found.invocation, facts)


def _shows_what_is_bound(found: ApprovalRow, pending: CallRecord) -> bool:
    """Tell whether the arguments on the card are those behind the digest; rows that somebody edited must not decide."""
    try:
        shown = stored.reader(found.delivery_id)(found.arguments)
        return digests.digest(shown) == pending.bound.get("arguments")
    except (ValueError, errors.NotFound):
        return False
