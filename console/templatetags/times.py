"""Times on pages: exact in UTC, and as ages and countdowns that a module keeps moving."""

import time
from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


def now_ms() -> int:
    """Return the time as the journal counts it."""
    return time.time_ns() // 1_000_000


def iso(at_ms: int) -> str:
    """Return a time as ISO 8601 in UTC, to the millisecond."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(length_ms: int) -> str:
    """Say a length of time in its largest unit."""
    length_ms = max(0, length_ms)
    if length_ms < MINUTE:
        return _("%(count)s s") % {"count": length_ms // SECOND}
    if length_ms < HOUR:
        return _("%(count)s min") % {"count": length_ms // MINUTE}
    if length_ms < DAY:
        return _("%(count)s h") % {"count": length_ms // HOUR}
    return _("%(count)s d") % {"count": length_ms // DAY}


def clock(left_ms: int) -> str:
    """Say what is left as a clock, or in units above an hour."""
    left = max(0, left_ms) // SECOND
    if left >= 3600:
        return span(left_ms)
    return f"{left // 60}:{left % 60:02}"


@register.simple_tag
def moment(at_ms: int) -> SafeString:
    """Show a time to the second, in UTC."""
    exact = iso(at_ms)
    return format_html('<time datetime="{}">{}</time>', exact, exact[:19].replace("T", " "))


@register.simple_tag
def moment_of_day(at_ms: int) -> SafeString:
    """Show the time of day to the millisecond, in UTC."""
    exact = iso(at_ms)
    return format_html('<time datetime="{}" title="{}">{}</time>', exact, exact, exact[11:23])


@register.simple_tag
def age(at_ms: int) -> SafeString:
    """Show how long ago something was."""
    exact = iso(at_ms)
    return format_html(
        '<time datetime="{}" title="{}" data-age="{}">{}</time>', exact, exact, at_ms, span(now_ms() - at_ms)
    )


@register.simple_tag
def countdown(at_ms: int) -> SafeString:
    """Show how much time is left."""
    exact = iso(at_ms)
    return format_html(
        '<time class="countdown" datetime="{}" title="{}" data-until="{}">{}</time>',
        exact,
        exact,
        at_ms,
        clock(at_ms - now_ms()),
    )


@register.filter
def lasted(length_ms: int) -> str:
    """Say how long something took, precisely where it was short."""
    if length_ms < SECOND:
        return _("%(count)s ms") % {"count": length_ms}
    if length_ms < MINUTE:
        return _("%(count)s s") % {"count": f"{length_ms / 1000:.1f}"}
    return clock(length_ms) if length_ms < HOUR else span(length_ms)


@register.simple_tag
def server_time() -> int:
    """Return the server's time in milliseconds, so that a wrong clock in a browser misleads nobody."""
    return now_ms()
