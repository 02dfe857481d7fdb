"""The timeline of what goes wrong: attempts at a model, unknown outcomes and their resolution, facts that come too late."""

from itertools import count
from typing import Any

from lifecycle_core.application.reading import journal, timeline
from lifecycle_core.application.resources import EventItem, RowNote, TimelineRow
from lifecycle_core.contract import events
from lifecycle_core.contract.events import Event

ADMITTED = events.InvocationAdmitted(
    agent="a",
    action="write",
    provider="p",
    model="m",
    delivery="d",
    input=None,
    requester="user:host",
    dispatch_digest="",
)
LOST = events.InvocationBecameUnknown(owner="invocation", reason="CALL_INTERRUPTED", detail="")


def items(*facts: Event) -> list[EventItem]:
    """Make facts a second apart."""
    number = count(1)
    return [
        EventItem(
            seq=(n := next(number)),
            position=n,
            kind=fact.kind,
            at=n * 1000,
            actor="system",
            payload=fact.payload(),
            hash=str(n),
        )
        for fact in facts
    ]


def rows(*facts: Event) -> dict[str, TimelineRow]:
    return {row.kind: row for row in timeline.fold(items(ADMITTED, *facts))}


def asked(attempt: int) -> Event:
    return events.ModelRequested(model_turn=1, model="m", attempt=attempt)


def failed(attempt: int, *, retried: bool) -> Event:
    return events.ModelFailed(
        model_turn=1, attempt=attempt, code="RATE_LIMIT", detail="busy", retry_after_ms=None, retried=retried
    )


def note(attempt: int, **more: Any) -> RowNote:
    return RowNote(kind="attempt-failed", attempt=attempt, code="RATE_LIMIT", text="busy", **more)


def test_a_model_turn_is_one_line_that_tells_of_each_attempt_that_gave_nothing() -> None:
    waiting = rows(asked(1), failed(1, retried=True))["model"]
    assert (waiting.state, waiting.notes) == ("failed", (note(1, retried=True),))
    again = rows(asked(1), failed(1, retried=True), asked(2))["model"]
    assert (again.state, again.started_at, again.ended_at) == ("running", 2000, None)
    assert again.notes == (note(1, retried=True, wait_ms=1000),)
    over = rows(asked(1), failed(1, retried=True), asked(2), failed(2, retried=False))["model"]
    assert (over.state, over.ended_at) == ("failed", 5000)
    assert over.notes == (note(1, retried=True, wait_ms=1000), note(2))


def test_a_turn_that_a_dead_worker_left_begins_anew() -> None:
    again = rows(asked(1), asked(1))["model"]
    assert (again.started_at, again.notes) == (3000, ())


def test_an_unknown_outcome_is_open_until_somebody_says_how_it_goes_on() -> None:
    lost = rows(LOST)
    assert (lost["resolution"].state, lost["resolution"].ended_at) == ("unknown", None)
    assert (lost["invocation"].state, lost["invocation"].ended_at) == ("unknown", 2000)
    for fact, state, end in (
        (events.UnknownContinued(by="user:c", reason="I looked"), "continued", None),
        (events.UnknownFailed(by="user:c", reason="I looked"), "failed", 3000),
        (events.UnknownCancelled(by="user:c", reason="I looked"), "cancelled", 3000),
    ):
        resolved = rows(LOST, fact)
        assert (resolved["resolution"].state, resolved["resolution"].ended_at) == (state, 3000)
        assert resolved["resolution"].notes == (RowNote(kind="resolved", by="user:c", text="I looked"),)
        whole = "running" if end is None else state
        assert (resolved["invocation"].state, resolved["invocation"].ended_at) == (whole, end)


def requested() -> Event:
    return events.ToolRequested(
        call="c",
        call_id="c1",
        model_turn=1,
        index=0,
        tool="send",
        effect_class="unsafe",
        arguments={},
        arguments_digest="",
        verdict="allow",
        rule="",
    )


def found(finding: Any, then: Any = "") -> Event:
    return events.CallResolved(call="c", tool="send", finding=finding, then=then, by="user:c", reason="seen")


def told(outcome: Any) -> Event:
    return events.ToolCompleted(call="c", call_id="c1", tool="send", outcome=outcome, content="")


def test_a_call_in_doubt_stays_open_until_somebody_finds_out_or_gives_up() -> None:
    lost = events.InvocationBecameUnknown(
        owner="invocation", reason="CALL_INTERRUPTED", detail="", open_intents=["c"]
    )
    went_on = events.UnknownContinued(by="user:c", reason="seen")
    gave_up = events.UnknownFailed(by="user:c", reason="seen")
    for facts, state, ended, code in (
        ((), "unknown", None, ""),
        ((found("happened"), told("executed"), went_on), "executed", 5000, "happened"),
        ((found("did-not-happen", "error"), told("failed"), went_on), "failed", 5000, "error"),
        ((found("did-not-happen", "run"), went_on), "running", None, "run"),
        ((gave_up,), "unknown", 4000, ""),
    ):
        row = rows(requested(), lost, *facts)["tool"]
        assert (row.state, row.ended_at) == (state, ended)
        assert [(note.code, note.by) for note in row.notes] == ([(code, "user:c")] if code else [])


def test_what_comes_too_late_is_shown_and_changes_no_other_line() -> None:
    late = events.LateResult(what="tool.completed", detail={"call": "c"})
    before, after = rows(LOST), rows(LOST, late)
    assert (after.pop("late").label, after) == ("tool.completed", before)


def test_the_transcript_tells_of_all_of_it() -> None:
    facts = (
        asked(1),
        failed(1, retried=True),
        LOST,
        events.UnknownContinued(by="user:c", reason="I looked"),
        events.LateAnswer(request="r", by="user:o", detail="yes"),
    )
    told = [entry for item in items(*facts) if (entry := journal.entry_of(item)) is not None]
    assert [(entry.kind, entry.who, entry.text) for entry in told] == [
        ("retried", "system", "RATE_LIMIT"),
        ("ended", "system", "CALL_INTERRUPTED"),
        ("resolved", "user:c", "continued"),
        ("late", "user:o", "r"),
    ]


def test_what_an_extension_says_in_the_place_of_another_names_it() -> None:
    said = (RowNote(kind="by-extension", by="audit/cache"),)
    answer: dict[str, Any] = {"reasoning": "", "calls": [], "finish": "stop", "usage": {}, "took_ms": 0}
    answered = events.ModelResponded(model_turn=1, text="No.", by="audit/cache", **answer)
    assert rows(asked(1), answered)["model"].notes == said
    requested = events.ToolRequested(
        call="c",
        call_id="c",
        model_turn=1,
        index=0,
        tool="look",
        effect_class="read_only",
        arguments={},
        arguments_digest="",
        verdict="allow",
        rule="r",
    )
    result: dict[str, Any] = {"call": "c", "call_id": "c", "tool": "look", "content": "No."}
    completed = events.ToolCompleted(outcome="answered", by="audit/cache", **result)
    assert rows(requested, completed)["tool"].notes == said
