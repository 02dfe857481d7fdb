"""What each event changes beside the journal: calls, approvals, inputs, sessions, counters and the disposition.

One function for each class of event; a class that is not in `PROJECTIONS` changes nothing. Each is a conditional statement:
when the rows are not as the event supposes, it raises, and the whole change is refused.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lifecycle_core.contract import events
from lifecycle_core.journal.projections import approvals, calls, counters, dispositions, inputs, sessions
from lifecycle_core.journal.standing import Work

PROJECTIONS: Final[Mapping[type[events.Event], Callable[[Work, Any], None]]] = {
    events.InvocationClaimed: sessions.claimed,
    events.SessionOpened: sessions.opened,
    events.SessionRestored: sessions.restored,
    events.ModelResponded: counters.model_responded,
    events.OutputProduced: counters.output_produced,
    events.ToolRequested: calls.requested,
    events.ToolIntended: calls.intended,
    events.ToolCompleted: calls.completed,
    events.CallResolved: calls.resolved,
    events.ApprovalRequested: approvals.requested,
    events.ApprovalDecided: approvals.decided,
    events.ApprovalExpired: approvals.expired,
    events.ApprovalCancelled: approvals.cancelled,
    events.ApprovalSuperseded: approvals.superseded,
    events.InputRequested: inputs.requested,
    events.InputAnswered: inputs.answered,
    events.InputDeclined: inputs.declined,
    events.InputExpired: inputs.expired,
    events.InputCancelled: inputs.cancelled,
    **dispositions.PROJECTIONS,
}


def apply(work: Work, event: events.Event) -> None:
    """Change what an event changes."""
    if project := PROJECTIONS.get(type(event)):
        project(work, event)
