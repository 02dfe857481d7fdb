"""The timeline: one line for every model turn, tool call, approval, input and wait, with its beginning and its end."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from lifecycle_core.application.reading import invocations, journal
from lifecycle_core.application.resources import EventItem, RowNote, TimelineRow
from lifecycle_core.contract import events
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


def _note(rows: Rows, key: str, note: RowNote) -> None:
    if key in rows:
        rows[key] = replace(rows[key], notes=(*rows[key].notes, note))


def _asked_model(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    """Open the line of a model turn, or go on with it when the model is asked again."""
    key = f"model-{p['model_turn']}"
    before = rows.get(key)
    if before is None or before.ended_at is None or not before.notes:
        _open(rows, item, key, "model", p["model"], "running")
        return
    last = replace(before.notes[-1], wait_ms=item.at - before.ended_at)
    rows[key] = replace(before, state="running", ended_at=None, notes=(*before.notes[:-1], last))


def _answered_by_model(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    key = f"model-{p['model_turn']}"
    _close(rows, key, item.at, p["finish"])
    _note_plugin(rows, key, p)


def _failed_model(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    key = f"model-{p['model_turn']}"
    _close(rows, key, item.at, "failed")
    note = RowNote(kind="attempt-failed", attempt=p["attempt"], code=p["code"], retried=p["retried"])
    _note(rows, key, replace(note, text=p["detail"]))


def _asked_tool(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    state = {"allow": "running", "ask": "waiting", "refuse": "refused"}[p["verdict"]]
    _open(rows, item, p["call"], "tool", p["tool"], state, p["call"])


def _sent_tool(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    if p["call"] in rows:
        rows[p["call"]] = replace(rows[p["call"]], state="running")


def _done_tool(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    _close(rows, p["call"], item.at, p["outcome"])
    if p.get("reconciled"):
        _note(rows, p["call"], RowNote(kind="reconciled"))
    _note_plugin(rows, p["call"], p)


def _note_plugin(rows: Rows, key: str, p: Mapping[str, Any]) -> None:
    if p.get("by"):
        _note(rows, key, RowNote(kind="by-extension", by=p["by"]))


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


def _lost(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    """Nobody knows how it ended: a line stays open until a coordinator says how it goes on, and so do the calls in doubt."""
    _ended(rows, item, p)
    for call in p["open_intents"]:
        if call in rows:
            rows[call] = replace(rows[call], state="unknown")
    _open(rows, item, f"unknown-{item.seq}", "resolution", p["reason"], "unknown")


def _resolved(state: str) -> Callable[[Rows, EventItem, Mapping[str, Any]], None]:
    def resolve(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
        note = RowNote(kind="resolved", by=p["by"], text=p["reason"])
        for key in [key for key, row in rows.items() if row.kind == "resolution" and row.ended_at is None]:
            _close(rows, key, item.at, state)
            _note(rows, key, note)
        for key, row in rows.items():
            if row.kind == "invocation":
                goes_on = state == "continued"
                rows[key] = replace(
                    row, state="running" if goes_on else state, ended_at=None if goes_on else item.at
                )
            elif row.state == "unknown" and row.ended_at is None and state != "continued":
                rows[key] = replace(row, ended_at=item.at)

    return resolve


def _found_out(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    """Note on a call what a person found out about it; where it is not run again its result closes the line."""
    finding = p["then"] or p["finding"]
    _note(rows, p["call"], RowNote(kind="found", code=finding, by=p["by"], text=p["reason"]))
    if finding == "run" and p["call"] in rows:
        rows[p["call"]] = replace(rows[p["call"]], state="running")


def _late(rows: Rows, item: EventItem, p: Mapping[str, Any]) -> None:
    key, what = f"late-{item.seq}", p.get("what") or p.get("request", "")
    _open(rows, item, key, "late", what, "late")
    _close(rows, key, item.at, "late")


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
    "invocation.became-unknown": _lost,
    "call.resolved": _found_out,
    "unknown.continued": _resolved("continued"),
    "unknown.failed": _resolved("failed"),
    "unknown.cancelled": _resolved("cancelled"),
    **dict.fromkeys((event.kind for event in events.LATE), _late),
}
