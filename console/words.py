"""The words in which pages name the codes of the contract, translated."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console import contract_words, event_words

type Words = dict[str, str | Promise]

STATUS: Final[Words] = {
    "starting": _("Starting"),
    "running": _("Running"),
    "awaiting-input": _("Waiting for people"),
    "completed": _("Completed"),
    "failed": _("Failed"),
    "invalid": _("Invalid"),
    "cancelled": _("Cancelled"),
    "unknown": _("Unknown"),
}
PROCESS: Final[Words] = {
    "running": pgettext_lazy("delivery", "Running"),
    "terminal": pgettext_lazy("delivery", "Ended"),
    "stopped": pgettext_lazy("delivery", "At rest"),
    "partly": pgettext_lazy("delivery", "Partly ended"),
}
REQUEST: Final[Words] = {
    "pending": _("Open"),
    "approved": _("Approved"),
    "edited": _("Approved with changes"),
    "rejected": _("Rejected"),
    "responded": _("Answered in its place"),
    "expired": _("Expired"),
    "cancelled": _("Cancelled"),
    "superseded": _("Superseded"),
    "answered": _("Answered"),
    "declined": _("Declined"),
}
DECISION: Final[Words] = {
    "approve": _("approved it"),
    "edit": _("approved it with changes"),
    "reject": _("rejected it"),
    "respond": _("answered in its place"),
}
SETTLED: Final[Words] = {
    **REQUEST,
    "approve": _("Approved"),
    "edit": _("Approved with changes"),
    "reject": _("Rejected"),
    "respond": _("Answered in its place"),
}
EFFECT: Final[Words] = {
    "read_only": _("Reads only"),
    "idempotent": _("Safe to repeat"),
    "reconcilable": _("Can be checked afterwards"),
    "unsafe": _("Cannot be undone"),
}
RISK: Final[Words] = {"low": _("Low risk"), "medium": _("Medium risk"), "high": _("High risk")}
OUTCOME: Final[Words] = {
    "executed": _("Executed"),
    "edited": _("Executed as edited"),
    "failed": _("Failed"),
    "refused": _("Refused"),
    "denied": _("Denied"),
    "expired": _("Expired"),
    "cancelled": _("Cancelled"),
    "answered": _("Answered in its place"),
    "unknown": _("Unknown"),
}
ROW: Final[Words] = {
    "invocation": _("Invocation"),
    "model": _("Model turn"),
    "tool": _("Tool call"),
    "approval": _("Approval"),
    "input": _("Question"),
    "suspension": _("Waiting"),
    "resolution": _("Unknown outcome"),
    "late": _("Too late"),
}
ENTRY: Final[Words] = {
    "input": _("Task"),
    "said": _("Agent"),
    "call": _("Tool call"),
    "result": _("Result"),
    "asked": _("Asked people"),
    "decided": _("Decided"),
    "completed": _("Completed"),
    "ended": _("Ended"),
    "retried": _("Model"),
    "resolved": _("Resolved"),
    "late": _("Too late"),
    "corrupt": _("Corrupt"),
}
GROUP: Final[Words] = {
    "mine": _("Needs me"),
    "others": _("Needs others"),
    "running": _("Running"),
    "done": _("Done"),
}
FLAG: Final[Words] = {
    "bidi-control": _("Text direction is overridden"),
    "control": _("Control characters"),
    "zero-width": _("Invisible characters of no width"),
    "tag": _("Hidden tag characters"),
    "variation-selector": _("Variation selectors"),
    "invisible": _("Invisible characters"),
    "separator": _("Unusual spaces or line ends"),
    "private-use": _("Private-use characters"),
    "unassigned": _("Unassigned characters"),
    "surrogate": _("Broken characters"),
    "overlay": _("Characters that cover others"),
    "mark-run": _("Stacked accents"),
    "long-space-run": _("Long runs of spaces"),
    "long-blank-run": _("Many empty lines"),
    "look-alike-token": _("Text that imitates our marks"),
    "mixed-script-host": _("An address that mixes alphabets"),
    "non-ascii-host": _("An address outside ASCII"),
    "punycode": _("An encoded address (punycode)"),
    "user-in-url": _("An address that hides its host behind a name"),
    "mixed-script-word": _("Words that mix alphabets"),
}
TIMELINE: Final[Words] = {
    "running": pgettext_lazy("timeline", "Running"),
    "waiting": pgettext_lazy("timeline", "Waits"),
    "resumed": pgettext_lazy("timeline", "Went on"),
    "pending": _("Open"),
    "stop": pgettext_lazy("timeline", "Answered"),
    "tool-calls": pgettext_lazy("timeline", "Called tools"),
    "length": pgettext_lazy("timeline", "Cut off"),
    "continued": pgettext_lazy("timeline", "Goes on"),
    "late": pgettext_lazy("timeline", "Ignored"),
}
RESOLUTION: Final[Words] = {
    "continued": _("The invocation goes on"),
    "failed": _("Settled as failed"),
    "cancelled": _("Settled as cancelled"),
    "happened": _("It happened"),
    "run": _("It did not happen, so it runs now"),
    "error": _("It did not happen, and the agent is told so"),
}
CANCEL_REASON: Final[Words] = {
    "DELIVERY_CANCELLED": _("The delivery is no longer wanted"),
    "COORDINATOR_STOP": _("Stopped by a coordinator"),
    "TIMEOUT": _("It took too long"),
}
VERSION: Final[Words] = {
    "current": pgettext_lazy("version", "Current"),
    "replaced": pgettext_lazy("version", "Replaced"),
    "withdrawn": pgettext_lazy("version", "Withdrawn"),
}
TABLES: Final[dict[str, Words]] = {
    "status": STATUS,
    "process": PROCESS,
    "request": REQUEST,
    "decision": DECISION,
    "settled": SETTLED,
    "effect": EFFECT,
    "risk": RISK,
    "outcome": OUTCOME,
    "row": ROW,
    "entry": ENTRY,
    "group": GROUP,
    "timeline": {**STATUS, **TIMELINE},
    "flag": FLAG,
    "cancel": CANCEL_REASON,
    "resolution": RESOLUTION,
    "event": event_words.EVENT,
    "part": contract_words.PART,
    "purpose": contract_words.PURPOSE,
    "member": contract_words.MEMBER,
    "derived": contract_words.DERIVED,
    "scope": contract_words.SCOPE,
    "session": contract_words.SESSION,
    "isolation": contract_words.ISOLATION,
    "uncertain": contract_words.UNCERTAIN,
    "version": VERSION,
}


def word(table: str, code: str) -> str:
    """Return the translated word for a code; a code without one stands for itself."""
    return str(TABLES[table].get(code, code))
