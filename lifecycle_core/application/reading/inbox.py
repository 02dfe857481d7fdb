"""The inbox: what needs me, what needs somebody else, what runs, what is done. Counts come from the queries of the lists."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from django.db.models import Q, QuerySet

from lifecycle_core.application.reading import approvals, inputs, invocations, stored
from lifecycle_core.application.resources import InboxRow, Page
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor, Permission
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.status import TERMINAL, WORKING, Status
from lifecycle_core.journal.models import Approval, InputRequest, Invocation

type Group = Literal["mine", "others", "running", "done"]

GROUPS: Final[tuple[Group, ...]] = ("mine", "others", "running", "done")
RISKS: Final = {"high": 0, "medium": 1, "low": 2}
TITLE_CHARACTERS: Final = 200
# The arguments that tell two calls of a tool apart, the first that there is.
SUBJECTS: Final = ("path", "url", "to", "recipient", "name", "id")
MAX_DIGITS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What the inbox is narrowed to; empty means everything."""

    kind: str | None = None
    tool: str | None = None
    agent: str | None = None
    delivery: str | None = None
    risk: str | None = None
    text: str | None = None


def inbox(
    actor: Actor, group: Group, *, cursor: str | None = None, limit: int = 50, **filters: Any
) -> Page[InboxRow]:
    """Return one group; open requests by deadline, then risk, then age, the rest newest first.

    `cursor` counts the rows that were seen: the open requests of a tenant are few, and they are ranked as a whole.
    """
    narrowed = Filters(**filters)
    start = _seen(cursor)
    limit = max(1, min(limit, 200))
    rows = _ranked(actor, group, narrowed, start + limit + 1)
    following = str(start + limit) if len(rows) > start + limit else None
    return Page(items=rows[start : start + limit], next=following)


def _seen(cursor: str | None) -> int:
    """Return how many rows were seen. Raises `errors.SchemaInvalid` for what is no cursor of this list."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < MAX_DIGITS):
        raise errors.SchemaInvalid(problems=[Problem("/cursor", "this is not a cursor of this list")])
    return int(cursor)


def inbox_counts(actor: Actor, **filters: Any) -> dict[str, int]:
    """Return how many rows each group has, by the same queries as the lists."""
    narrowed = Filters(**filters)
    return {group: sum(rows.count() for rows in _queries(actor, group, narrowed)) for group in GROUPS}


def _ranked(actor: Actor, group: Group, filters: Filters, most: int) -> list[InboxRow]:
    asked, questions, runs = _queries(actor, group, filters)
    order = "-closed_at" if group == "done" else "expires_at"
    found = [_of_approval(row) for row in asked.order_by(order, "id")[:most]]
    found += [_of_input(row) for row in questions.order_by(order, "id")[:most]]
    found += [_of_invocation(row) for row in runs.order_by("-updated_at", "id")[:most]]
    if group in ("mine", "others"):
        return sorted(found, key=lambda row: (row.expires_at or 0, RISKS.get(row.risk, 3), row.at, row.id))
    return sorted(found, key=lambda row: (-row.at, row.id))


def _queries(
    actor: Actor, group: Group, filters: Filters
) -> tuple[QuerySet[Approval], QuerySet[InputRequest], QuerySet[Invocation]]:
    """Return the three queries of a group; list and count both use them."""
    asked = _narrow(approvals.visible(actor), filters, "approval", "proposed", "invocation__")
    questions = _narrow(inputs.visible(actor), filters, "input", "prompt", "invocation__")
    runs = _narrow(invocations.visible(actor), filters, "invocation", "action", "")
    pending, nothing = Q(state="pending"), Q(pk__in=())
    match group:
        case "mine" | "others":
            mine = group == "mine"
            asked = asked.filter(pending if actor.may(Permission.DECIDE) is mine else nothing)
            questions = questions.filter(pending if actor.may(Permission.ANSWER) is mine else nothing)
            return asked, questions, runs.filter(_needs_resolution(actor, mine=mine))
        case "running":
            return asked.none(), questions.none(), runs.filter(status__in=sorted(WORKING))
        case "done":
            return (
                asked.exclude(pending),
                questions.exclude(pending),
                runs.filter(status__in=sorted(TERMINAL)),
            )


def _needs_resolution(actor: Actor, *, mine: bool) -> Q:
    """An unknown invocation waits for whoever may resolve it."""
    return Q(status=Status.UNKNOWN) if actor.may(Permission.RESOLVE) is mine else Q(pk__in=())


def _narrow(rows: QuerySet[Any], filters: Filters, kind: str, text: str, prefix: str) -> QuerySet[Any]:
    if filters.kind and filters.kind != kind:
        return rows.none()
    if (filters.tool or filters.risk) and kind != "approval":
        return rows.none()
    given = {
        "tool": filters.tool,
        "risk": filters.risk,
        f"{prefix}agent": filters.agent,
        f"{prefix}delivery__identity": filters.delivery,
    }
    rows = rows.filter(**{field: value for field, value in given.items() if value})
    if filters.text:
        delivery = {f"{prefix}delivery__identity__icontains": filters.text}
        agent = {f"{prefix}agent__icontains": filters.text}
        rows = rows.filter(Q(**{f"{text}__icontains": filters.text}) | Q(**delivery) | Q(**agent))
    return rows


def _of_approval(row: Approval) -> InboxRow:
    return InboxRow(
        id=str(row.pk),
        kind="approval",
        title=row.tool,
        agent=row.invocation.agent,
        delivery=row.invocation.delivery.identity,
        requester=row.invocation.requester,
        state=row.state,
        risk=row.risk,
        at=row.closed_at or row.requested_at,
        expires_at=row.expires_at if row.state == "pending" else None,
        claimed_by=row.claimed_by or None,
        invocation=str(row.invocation_id),
        subject=_subject(stored.shown(row.invocation.delivery_id)(row.arguments)),
    )


def _subject(arguments: Json) -> str:
    """Return what a call is about, in the agent's words; empty where no argument says it."""
    given = arguments if isinstance(arguments, dict) else {}
    texts = (value for name in SUBJECTS if isinstance(value := given.get(name), str))
    return next(texts, "")[:TITLE_CHARACTERS]


def _of_input(row: InputRequest) -> InboxRow:
    prompt = str(stored.shown(row.invocation.delivery_id)(row.prompt))
    return InboxRow(
        id=str(row.pk),
        kind="input",
        title=prompt[:TITLE_CHARACTERS],
        agent=row.invocation.agent,
        delivery=row.invocation.delivery.identity,
        requester=row.invocation.requester,
        state=row.state,
        risk="",
        at=row.closed_at or row.requested_at,
        expires_at=row.expires_at if row.state == "pending" else None,
        claimed_by=row.claimed_by or None,
        invocation=str(row.invocation_id),
    )


def _of_invocation(row: Invocation) -> InboxRow:
    return InboxRow(
        id=str(row.pk),
        kind="invocation",
        title=row.action,
        agent=row.agent,
        delivery=row.delivery.identity,
        requester=row.requester,
        state=row.status,
        risk="",
        at=row.updated_at,
        expires_at=None,
        claimed_by=None,
        invocation=str(row.pk),
    )
