"""A second process on the same database, which decides by the application's function: `python -m tests.faults.decider`.

It reads one line of JSON for each approval and answers with one: the approval as it is then, or the problem. With `pause` it
stops between the look at the approval and the write, says so, and goes on at the next line. With `blind` its writes compare
nothing from then on.
"""

import json
import sys
from typing import Any
from uuid import UUID

import django

from tests.harness import statements


def main() -> None:
    """Decide what is asked."""
    django.setup()
    tell({"ready": True})
    for line in sys.stdin:
        tell(decide(**json.loads(line)))


def tell(answer: dict[str, Any]) -> None:
    """Write one line."""
    print(json.dumps(answer), flush=True)  # noqa: T201


def decide(*, approval: str, request_digest: str, pause: bool, blind: bool) -> dict[str, Any]:
    """Refuse as a second operator."""
    from console import errors as wire
    from lifecycle_core.access import roles
    from lifecycle_core.application import approvals
    from lifecycle_core.contract import errors
    from lifecycle_core.contract.actor import Actor

    rights = roles.PERMISSIONS["operator"]
    actor = Actor(tenant="default", name="user:second", permissions=rights)
    if blind:
        without_comparison()
    if pause:
        pause_before_writing()
    try:
        item = approvals.decide(actor, UUID(approval), decision="reject", request_digest=request_digest)
    except errors.Refused as refusal:
        return {"problem": wire.problem(refusal)}
    except Exception as fault:  # noqa: BLE001  (a control shows what happens without the defence)
        return {"fault": type(fault).__name__}
    return {"decisions": [{"by": made.by, "decision": made.decision} for made in item.decisions]}


def pause_before_writing() -> None:
    """Stop once between reading and writing."""
    from lifecycle_core.application import approvals

    resolve = approvals._resolve

    def paused(*arguments: Any) -> Any:
        setattr(approvals, "_resolve", resolve)  # noqa: B010
        tell({"paused": True})
        sys.stdin.readline()
        return resolve(*arguments)

    setattr(approvals, "_resolve", paused)  # noqa: B010


def without_comparison() -> None:
    """Take the comparison out of the write, and the second wall down."""
    from lifecycle_core.journal.projections import approvals

    statements.replace(approvals, "DECIDED", " AND state = 'pending'", "")
    statements.replace(approvals, "DECISION", "(%s, 0,", "(%s, 1,")


if __name__ == "__main__":
    main()
