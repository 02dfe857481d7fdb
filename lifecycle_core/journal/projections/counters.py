"""Counters of an invocation."""

from lifecycle_core.contract import events
from lifecycle_core.journal.standing import Work


def model_responded(work: Work, event: events.ModelResponded) -> None:
    # A turn counts when it has answered: one that was interrupted before is asked again under its number.
    work.standing.model_turns = event.model_turn
    work.standing.tokens += event.usage.get("input", 0) + event.usage.get("output", 0)


def output_produced(work: Work, event: events.OutputProduced) -> None:
    work.standing.output_sequence = event.sequence
