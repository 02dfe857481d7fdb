"""Name codes in words, and draw the shapes that go with them."""

from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from lucide import _render_icon as lucide_svg

from console import words
from lifecycle_core.application.resources import TimelineRow

register = template.Library()

STATUS_ICONS: Final = {
    "starting": "circle-dashed",
    "running": "loader",
    "awaiting-input": "circle-pause",
    "completed": "circle-check",
    "failed": "circle-x",
    "invalid": "triangle-alert",
    "cancelled": "ban",
    "unknown": "circle-question-mark",
    "pending": "circle-pause",
    "approved": "check",
    "edited": "pencil",
    "rejected": "x",
    "responded": "reply",
    "expired": "timer-off",
    "superseded": "replace",
    "answered": "check",
    "declined": "x",
    "terminal": "circle-check",
    "stopped": "circle-pause",
    "partly": "circle-dot-dashed",
    "absent": "ban",
    "waits": "hourglass",
    "held": "lock",
    "free": "lock-open",
    "unopened": "circle-dashed",
    "executed": "check",
    "denied": "x",
    "refused": "shield-x",
    "continued": "circle-arrow-right",
    "late": "clock-alert",
    "current": "circle-check",
    "replaced": "replace",
    "withdrawn": "ban",
}
KIND_ICONS: Final = {
    "approval": "shield-question-mark",
    "input": "message-circle-question-mark",
    "invocation": "play",
    "model": "brain",
    "tool": "wrench",
    "suspension": "circle-pause",
    "said": "bot",
    "call": "wrench",
    "result": "corner-down-right",
    "asked": "user-round-search",
    "decided": "user-round-check",
    "completed": "circle-check",
    "ended": "flag",
    "retried": "refresh-cw",
    "resolution": "circle-question-mark",
    "resolved": "user-round-check",
    "late": "clock-alert",
}
RISK_ICONS: Final = {"low": "circle", "medium": "diamond", "high": "triangle-alert"}


@register.simple_tag
def icon(name: str, size: int = 16) -> SafeString:
    """Draw an icon that says nothing to a screen reader: a word stands beside it."""
    return mark_safe(_svg(str(name), size))  # noqa: S308  (drawn from the icon package, not from text)


_drawn: dict[tuple[str, int], str] = {}


def _svg(name: str, size: int) -> str:
    drawing = _drawn.get((name, size))
    if drawing is None:
        drawing = lucide_svg(name, size, aria_hidden="true", focusable="false", **{"class": "icon"})
        _drawn[name, size] = drawing
    return drawing


@register.simple_tag
def kind_icon(kind: str, size: int = 16) -> SafeString:
    """Draw the shape of a kind of row."""
    return icon(KIND_ICONS.get(kind, "dot"), size)


@register.simple_tag
def state_icon(state: str, size: int = 16) -> SafeString:
    """Draw the shape of a status or state."""
    return icon(STATUS_ICONS.get(state, "dot"), size)


@register.simple_tag
def chip(table: str, code: str) -> SafeString:
    """Show a status as a shape and a word, in its colour."""
    return format_html(
        '<span class="chip" data-state="{}">{}{}</span>',
        code,
        icon(STATUS_ICONS.get(code, "dot"), 14),
        words.word(table, code),
    )


@register.simple_tag
def risk(level: str) -> SafeString:
    """Show a risk as a shape and a word."""
    return format_html(
        '<span class="risk" data-risk="{}">{}{}</span>',
        level,
        icon(RISK_ICONS.get(level, "dot"), 14),
        words.word("risk", level),
    )


@register.filter
def word(code: str, table: str) -> str:
    """Name a code in words: `{{ code|word:"status" }}`."""
    return words.word(table, code)


@register.filter
def tail(identity: str) -> str:
    """Shorten a digest or an identity so that people can compare it: eight characters after its prefix."""
    return str(identity).rpartition(":")[2][:8]


@register.filter(name="words")
def split(text: str) -> list[str]:
    """Split fixed words of a template, to loop over."""
    return text.split()


@register.filter
def state_of_row(row: TimelineRow) -> str:
    """Name the state of a line of the timeline: that of a call, of a request, or of time passing."""
    table = {"tool": "outcome", "approval": "request", "input": "request"}.get(row.kind, "timeline")
    return words.word("timeline", row.state) if row.state in words.TIMELINE else words.word(table, row.state)
