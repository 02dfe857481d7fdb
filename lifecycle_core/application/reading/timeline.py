"""The timeline: one line for every model turn, tool call, approval, input and wait, with its beginning and its end."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from lifecycle_core.application.reading import invocations, journal
from lifecycle_core.application.resources import EventItem, TimelineRow
from lifecycle_core.contract.actor import Actor

type Rows = dict[str, TimelineRow]

ENDS: Final = {
    "invocation.completed": "completed",
    "invocation.failed": "failed",
    "invocation.invalidated": "invalid",
    "invocation.cancelled": "cancelled",
    "invocation.became-unknown": "unknown",
}


def timeline(actor: Actor, invocation: UUID) -> list[TimelineRow]:
    """Return the rows of an invocation in the order in which they began."""
    found = invocations.row(actor, invocation)
    return fold(journal.all_events(found))


def fold(items: Iterable[EventItem]) -> list[TimelineRow]:
    """Return the rows that a journal's facts make."""
    rows: Rows = {}
    for item in items:
        apply = APPLY.get(item.kind)
        if apply is not None and not item.corrupt:
            apply(rows, item, item.payload)
    return list(rows.values())


def _open(rows: Rows, item: EventItem, key: str, kind: Any, label: str, state: str, refers: str = "") -> None:
    rows[key] = TimelineRow(
        key=key,
        seq=item.seq,
        kind=kind,
        label=label,
        state=state,
        started_at=item.at,
        ended_at=None,
        refers=refers,
    )


def _close(rows: Rows, key: str, at: int, state: str) -> None:
    if key in rows:
        rows[key] = replace(rows[key], ended_at=at, state=state)


def _admitted(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _open(rows, item, "invocation", "invocation", p["action"], "running")


def _asked_model(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _open(rows, item, f"model-{p['model_turn']}", "model", p["model"], "running")


def _answered_by_model(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _close(rows, f"model-{p['model_turn']}", item.at, p["finish"])


def _failed_model(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _close(rows, f"model-{p['model_turn']}", item.at, "failed")


def _asked_tool(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    state = {"allow": "running", "ask": "waiting", "refuse": "refused"}[p["verdict"]]
    _open(rows, item, p["call"], "tool", p["tool"], state, p["call"])


def _sent_tool(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    if p["call"] in rows:
        rows[p["call"]] = replace(rows[p["call"]], state="running")


def _done_tool(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _close(rows, p["call"], item.at, p["outcome"])


def _asked_approval(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _open(rows, item, p["approval"], "approval", p["tool"], "pending", p["approval"])


def _asked_input(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _open(rows, item, p["input"], "input", p["request_identity"], "pending", p["input"])


def _closed(field: str, state: str) -> Callable[[Rows, EventItem, Mapping[str, Any]], None]:
    return lambda rows, item, p: _close(rows, p[field], item.at, state)


def _decided(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    word = {"approve": "approved", "edit": "edited", "reject": "rejected", "respond": "responded"}
    _close(rows, p["approval"], item.at, word[p["decision"]])


def _suspended(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _open(rows, item, f"wait-{item.seq}", "suspension", "", "waiting")
    _whole(rows, "waiting")


def _resumed(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    for key, row in rows.items():
        if row.kind == "suspension" and row.ended_at is None:
            rows[key] = replace(row, ended_at=item.at, state="resumed")
    _whole(rows, "running")


def _whole(rows: Rows, state: str) -> None:
    """Say of the invocation as a whole whether it is at work or waits for people."""
    for key, row in rows.items():
        if row.kind == "invocation" and row.ended_at is None:
            rows[key] = replace(row, state=state)


def _ended(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    """Close what is still open; a call that was sent and has no outcome stays open, for nobody knows."""
    _resumed(rows, item, p)
    state = ENDS[item.kind]
    for key, row in rows.items():
        if row.ended_at is None and row.kind in ("invocation", "model"):
            rows[key] = replace(row, ended_at=item.at, state=state)


APPLY: Final[Mapping[str, Callable[[Rows, EventItem, Mapping[str, Any]], None]]] = {
    "invocation.admitted": _admitted,
    "model.requested": _asked_model,
    "model.failed": _failed_model,
    "model.responded": _answered_by_model,
    "tool.requested": _asked_tool,
    "tool.intended": _sent_tool,
    "tool.completed": _done_tool,
    "approval.requested": _asked_approval,
    "approval.decided": _decided,
    "approval.expired": _closed("approval", "expired"),
    "approval.cancelled": _closed("approval", "cancelled"),
    "approval.superseded": _closed("approval", "superseded"),
    "input.requested": _asked_input,
    "input.answered": _closed("input", "answered"),
    "input.declined": _closed("input", "declined"),
    "input.expired": _closed("input", "expired"),
    "input.cancelled": _closed("input", "cancelled"),
    "turn.suspended": _suspended,
    "invocation.resumed": _resumed,
    **dict.fromkeys(ENDS, _ended),
}
