"""Every kind of fact in words, as the journal shows it beside its code."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

EVENT: Final[dict[str, str | Promise]] = {
    "invocation.admitted": _("The invocation was admitted"),
    "invocation.claimed": _("A worker took it"),
    "session.opened": _("Its session was opened"),
    "session.restored": _("Its session was restored exactly"),
    "invocation.resumed": _("A worker went on with it"),
    "turn.suspended": _("The turn waits for people"),
    "invocation.completed": _("The invocation completed"),
    "invocation.failed": _("The invocation failed"),
    "invocation.invalidated": _("The invocation ended invalid"),
    "invocation.became-unknown": _("Nobody can say how it ended"),
    "invocation.cancelled": _("The invocation was cancelled"),
    "call.resolved": _("A coordinator said what became of a call"),
    "unknown.continued": _("A coordinator let it go on"),
    "unknown.failed": _("A coordinator settled it as failed"),
    "unknown.cancelled": _("A coordinator settled it as cancelled"),
    "model.requested": _("The model is asked"),
    "model.failed": _("The model gave no answer"),
    "model.responded": _("The model answered"),
    "output.produced": _("The agent said something"),
    "tool.requested": _("The agent asked for a call"),
    "tool.intended": _("The call is about to be sent"),
    "tool.attempted": _("The call came back, and is sent once more"),
    "tool.completed": _("The call has its result"),
    "approval.requested": _("People are asked whether the call may run"),
    "approval.decided": _("Somebody decided"),
    "approval.expired": _("Nobody decided in time"),
    "approval.cancelled": _("The request was closed"),
    "approval.superseded": _("The approval is void: what would run has changed"),
    "input.requested": _("People are asked a question"),
    "input.answered": _("Somebody answered"),
    "input.declined": _("Somebody declined to answer"),
    "input.expired": _("Nobody answered in time"),
    "input.cancelled": _("The question was closed"),
    "extension.failed": _("An extension failed"),
    "extension.overdue": _("An extension took too long"),
    "extension.suspended": _("An extension that only fails is not heard any more"),
    "late.result": _("A result came too late"),
    "late.answer": _("An answer came too late"),
    "late.provider": _("The provider said something too late"),
    "delivery.retired": _("The delivery was retired"),
}
