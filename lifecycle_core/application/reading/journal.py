"""A journal, flat and as a conversation."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from lifecycle_core.application.reading import invocations, stored
from lifecycle_core.application.reading.paging import MAX_LIMIT
from lifecycle_core.application.resources import EventItem, Page, TranscriptEntry
from lifecycle_core.contract import events as facts
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal import chain
from lifecycle_core.journal.models import Event, Invocation

CHUNK = 500


def events(
    actor: Actor,
    invocation: UUID,
    *,
    kind: str | None = None,
    actor_name: str | None = None,
    text: str | None = None,
    after: int = 0,
    limit: int = 200,
) -> Page[EventItem]:
    """Return facts of a journal in their order, after a seq; `kind` may be a prefix such as `tool.`."""
    found = invocations.row(actor, invocation)
    limit = max(1, min(limit, 5 * MAX_LIMIT))
    rows = Event.objects.filter(invocation_id=found.pk, seq__gt=after)
    if kind:
        rows = rows.filter(kind__startswith=kind)
    if actor_name:
        rows = rows.filter(actor__icontains=actor_name)
    if text:
        rows = rows.filter(payload__icontains=text)
    page = list(rows.order_by("seq")[: limit + 1])
    following = str(page[limit - 1].seq) if len(page) > limit else None
    return Page(items=list(_items(found, page[:limit])), next=following)


def all_events(found: Invocation) -> Iterator[EventItem]:
    """Yield every fact of a journal in its order."""
    after = 0
    while page := list(Event.objects.filter(invocation_id=found.pk, seq__gt=after).order_by("seq")[:CHUNK]):
        yield from _items(found, page)
        after = page[-1].seq


def item(found: Invocation, row: Event) -> EventItem:
    """Shape one event alone, without a look at its neighbours: whether it fits its hash is not judged here."""
    payload, corrupt = _payload(row, stored.reader(found.delivery_id))
    return EventItem(
        seq=row.seq,
        position=row.position,
        kind=row.kind,
        at=row.at,
        actor=row.actor,
        payload=payload,
        hash=row.hash,
        corrupt=corrupt,
    )


def _items(found: Invocation, rows: list[Event]) -> Iterator[EventItem]:
    """Shape events and check each against its hash; the first of a stretch is checked against the one before it."""
    read = stored.reader(found.delivery_id)
    known = _hashes_before(found, rows)
    for row in rows:
        payload, corrupt = _payload(row, read)
        previous = known.get(row.seq - 1, "")
        yield EventItem(
            seq=row.seq,
            position=row.position,
            kind=row.kind,
            at=row.at,
            actor=row.actor,
            payload=payload,
            hash=row.hash,
            corrupt=corrupt or not chain.fits(row, str(found.pk), previous, payload),
        )


def _hashes_before(found: Invocation, rows: list[Event]) -> Mapping[int, str]:
    wanted = {row.seq - 1 for row in rows}
    hashes = {row.seq: row.hash for row in rows}
    missing = wanted - set(hashes) - {0}
    others: QuerySet[Event, tuple[int, str]] = Event.objects.filter(
        invocation_id=found.pk, seq__in=missing
    ).values_list("seq", "hash")
    return hashes | dict(others) | {0: chain.origin(str(found.pk))}


def _payload(row: Event, read: Callable[[str], Json]) -> tuple[dict[str, Any], bool]:
    """Return an event's payload; one that cannot be read is shown as it is stored and hides nothing else."""
    try:
        payload: dict[str, Any] = json.loads(row.payload)
        return {name: read(json.dumps(value)) for name, value in payload.items()}, False
    except stored.UNREADABLE:
        return {"stored": row.payload}, True


# The conversation.

type Told = tuple[str, str, str, Json, str]
"""Kind, who, text, value and what the entry refers to."""


def transcript(actor: Actor, invocation: UUID) -> list[TranscriptEntry]:
    """Return what was said and done, in order."""
    found = invocations.row(actor, invocation)
    return [entry for item in all_events(found) if (entry := entry_of(item)) is not None]


def entry_of(item: EventItem) -> TranscriptEntry | None:
    """Return what an event adds to the conversation, if anything."""
    if item.corrupt:
        return _corrupt(item)
    tell = TELLERS.get(item.kind)
    told = tell(item.payload) if tell else None
    if told is None:
        return None
    kind, who, text, value, refers = told
    return TranscriptEntry(
        seq=item.seq, at=item.at, kind=kind, who=who or item.actor, text=text, value=value, refers=refers
    )


def _corrupt(item: EventItem) -> TranscriptEntry:
    """Say that something stood here, and show what is stored now."""
    return TranscriptEntry(
        seq=item.seq, at=item.at, kind="corrupt", who="", text=item.kind, value=dict(item.payload), refers=""
    )


def _decided(p: Mapping[str, Any]) -> Told:
    content = {"edit": "arguments", "respond": "result"}.get(p["decision"], "reason")
    return ("decided", p["by"], p["decision"], p[content], p["approval"])


def _said(p: Mapping[str, Any]) -> Told | None:
    return ("said", "", p["text"], None, "") if p["text"] else None


def _retried(p: Mapping[str, Any]) -> Told:
    told = {name: p[name] for name in ("attempt", "retried", "retry_after_ms", "detail")}
    return ("retried", "", p["code"], told, "")


def _late(p: Mapping[str, Any]) -> Told:
    return ("late", p.get("by", ""), p.get("what") or p.get("request", ""), p["detail"], "")


TELLERS: Mapping[str, Callable[[Mapping[str, Any]], Told | None]] = {
    "invocation.admitted": lambda p: ("input", p["requester"], p["action"], p["input"], ""),
    "model.failed": _retried,
    "model.responded": _said,
    "tool.requested": lambda p: ("call", "", p["tool"], p["arguments"], p["call"]),
    "tool.completed": lambda p: ("result", p["tool"], p["outcome"], p["content"], p["call"]),
    "approval.requested": lambda p: ("asked", "", p["tool"], None, p["approval"]),
    "approval.decided": _decided,
    "approval.expired": lambda p: ("decided", "", "expired", None, p["approval"]),
    "approval.superseded": lambda p: ("decided", "", "superseded", p["reason"], p["approval"]),
    "input.requested": lambda p: ("asked", "", p["prompt"], None, p["input"]),
    "input.answered": lambda p: ("decided", p["by"], "answered", p["content"], p["input"]),
    "input.declined": lambda p: ("decided", p["by"], "declined", p["reason"], p["input"]),
    "input.expired": lambda p: ("decided", "", "expired", None, p["input"]),
    "invocation.completed": lambda p: ("completed", "", "", p["result"], ""),
    "invocation.failed": lambda p: ("ended", "", p["code"], p["detail"], ""),
    "invocation.invalidated": lambda p: ("ended", "", p["code"], p["detail"], ""),
    "invocation.became-unknown": lambda p: ("ended", "", p["reason"], p["detail"], ""),
    "invocation.cancelled": lambda p: ("ended", p["by"], p["reason"], p["comment"], ""),
    "call.resolved": lambda p: ("resolved", p["by"], p["then"] or p["finding"], p["reason"], p["call"]),
    "unknown.continued": lambda p: ("resolved", p["by"], "continued", p["reason"], ""),
    "unknown.failed": lambda p: ("resolved", p["by"], "failed", p["reason"], ""),
    "unknown.cancelled": lambda p: ("resolved", p["by"], "cancelled", p["reason"], ""),
    **dict.fromkeys((event.kind for event in facts.LATE), _late),
}
