"""Say what is known again of an invocation that was unknown: a coordinator found out what nobody could be asked.

Each call that was sent and has no outcome either happened, and then has its result, or did not, and then runs after all or is
an error that the agent is told. Only when every such call has an answer may the invocation go on; it may also be settled as
failed or as cancelled, and then what nobody found out stays as it is.
"""

from collections.abc import Sequence

from lifecycle_core.contract import errors, events
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.events import Event
from lifecycle_core.contract.ports import CallRecord
from lifecycle_core.contract.resolution import Finding, Resolution
from lifecycle_core.engine import approvals


def open_intents(calls: Sequence[CallRecord]) -> list[CallRecord]:
    """Return the calls that were sent and have no outcome."""
    return [call for call in calls if call.state == "intended"]


def facts(resolution: Resolution, calls: Sequence[CallRecord]) -> list[Event]:
    """Return what a resolution makes true of the calls of the last model turn, and how the invocation goes on or ended.

    Raises `errors.SchemaInvalid`, with a pointer below `/calls`, for findings that do not fit the open calls.
    """
    unresolved = {call.id: call for call in open_intents(calls)}
    problems = _problems(resolution, unresolved)
    if problems:
        raise errors.SchemaInvalid(problems=problems)
    found = [fact for each in resolution.findings for fact in _found(resolution, each, unresolved[each.call])]
    return [*found, _ending(resolution)]


def _problems(resolution: Resolution, unresolved: dict[str, CallRecord]) -> list[Problem]:
    problems, seen = list[Problem](), set[str]()
    for index, finding in enumerate(resolution.findings):
        at = f"/calls/{index}"
        if finding.call not in unresolved or finding.call in seen:
            problems.append(Problem(f"{at}/call", "this is no open call, or it is named twice"))
        if finding.happened == bool(finding.then):
            problems.append(Problem(f"{at}/then", "say what follows where it did not happen, and only there"))
        if finding.then == "run" and resolution.outcome != "continue":
            problems.append(Problem(f"{at}/then", "a call runs only where the invocation goes on"))
        seen.add(finding.call)
    if resolution.outcome == "continue":
        problems += [
            Problem("/calls", f"say what became of the call {call}")
            for call in sorted(unresolved.keys() - seen)
        ]
    return problems


def _found(resolution: Resolution, finding: Finding, call: CallRecord) -> list[Event]:
    resolved = events.CallResolved(
        call=call.id,
        tool=call.tool,
        finding="happened" if finding.happened else "did-not-happen",
        then=finding.then,
        by=resolution.by,
        reason=resolution.reason,
    )
    if finding.happened:
        return [resolved, approvals.settled(call, "edited" if call.edited else "executed", finding.result)]
    if finding.then == "run":
        return [resolved]
    told: Json = {"error": "DID_NOT_HAPPEN", "detail": "A person found that this call was not carried out."}
    return [resolved, approvals.settled(call, "failed", told)]


def _ending(resolution: Resolution) -> Event:
    kinds = {
        "continue": events.UnknownContinued,
        "failed": events.UnknownFailed,
        "cancelled": events.UnknownCancelled,
    }
    return kinds[resolution.outcome](by=resolution.by, reason=resolution.reason)
