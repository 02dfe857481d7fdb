"""Cancel one invocation."""

from uuid import UUID

from lifecycle_core.application import cleaning, commands, endings, permissions, queries, steering
from lifecycle_core.application.reading import invocations as rows
from lifecycle_core.application.resources import InvocationItem
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.invocation import CancelReason


def cancel(
    actor: Actor,
    invocation: UUID,
    *,
    reason: CancelReason = "COORDINATOR_STOP",
    comment: str = "",
    key: str | None = None,
) -> InvocationItem:
    """Cancel one invocation, durably before anything is interrupted; one that has ended keeps its status."""
    found = rows.row(actor, invocation)
    permissions.check_can_cancel_invocation(actor)
    comment = cleaning.text(found, comment)
    body: Json = {"invocation": str(invocation), "reason": reason, "comment": comment}

    def run() -> UUID:
        status = steering.control().cancel(found.pk, reason=reason, by=actor.name, comment=comment)
        endings.show(found.pk, found.status, status)
        return found.pk

    return queries.invocation(actor, commands.Command.of("cancel-invocation", key, body).once(actor, run))
