"""The generated documents say what the code says."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from lifecycle_core.application import documents
from lifecycle_core.contract import events
from lifecycle_core.contract.status import Status
from lifecycle_core.engine import machine

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_the_committed_documents_are_up_to_date() -> None:
    for name, text in documents.generated().items():
        assert (DOCS / name).read_text() == text
    call_command("docs", "--check")


def test_a_document_that_the_table_has_left_behind_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {
        **machine.TRANSITIONS,
        Status.UNKNOWN: {**machine.TRANSITIONS[Status.UNKNOWN], events.TurnSuspended: Status.FAILED},
    }
    monkeypatch.setattr(machine, "TRANSITIONS", changed)
    with pytest.raises(CommandError, match=r"statuses\.md"):
        call_command("docs", "--check")


def test_every_row_of_the_table_is_a_row_of_the_document() -> None:
    text = documents.statuses()
    for status, rows in machine.TRANSITIONS.items():
        for event, following in rows.items():
            assert f"| {status.value if status else '(none)'} | {event.kind} | {following.value} |" in text


def test_the_diagram_shows_every_way_from_one_status_to_another() -> None:
    text = documents.statuses()
    for status, rows in machine.TRANSITIONS.items():
        for event, following in rows.items():
            if following is not status:
                source = "[*]" if status is None else status.value.replace("-", "_")
                way = f"{source} --> {following.value.replace('-', '_')}: "
                [line] = [line for line in text.splitlines() if line.strip().startswith(way)]
                assert event.kind in line.partition(": ")[2].split(", ")
