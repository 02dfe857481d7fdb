"""Show what an agent wrote. Its text reaches a page through these tags only."""

import json
from collections.abc import Iterator
from typing import Final

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console import shown
from lifecycle_core.contract import digests
from lifecycle_core.contract.display import Display

register = template.Library()

GIST: Final = 240
PIECE: Final = {"text": "{}", "token": '<span class="token">{}</span>'}


@register.simple_tag
def text(value: object) -> SafeString:
    """Show a short text in the line, in a region that htmx does not look into."""
    return format_html('<span class="agent" dir="auto" hx-ignore>{}</span>', pieces(value))


@register.filter
def pieces(value: object) -> SafeString:
    """Escape a text, with a visible token for whatever would not be seen."""
    display = value if isinstance(value, Display) else shown.text(value)
    return format_html_join("", "{}", ((format_html(PIECE[s.kind], s.text),) for s in display.segments))


@register.inclusion_tag("parts/block.html", name="block_text")
def block(value: object, *, fold: bool = True) -> dict[str, object]:
    """Show a text in full, folded where it is long."""
    display = value if isinstance(value, Display) else shown.text(value)
    return {"display": display, "long": fold and shown.is_long(display)}


@register.inclusion_tag("parts/node.html")
def value(value: object) -> dict[str, object]:
    """Show a JSON value with all its members."""
    return {"node": shown.tree(value)}


@register.simple_tag
def gist(payload: object) -> SafeString:
    """Show the beginning of a payload in one line."""
    return text(json.dumps(digests.thaw(payload), ensure_ascii=False)[:GIST])


@register.filter
def plain(value: object) -> str:
    """Return a short text with its unseen characters spelt out, for places that hold no elements."""
    return shown.text(value).text


@register.filter
def pretty(value: object) -> str:
    """Return indented JSON whose unseen characters are escaped."""
    return shown.pretty(value)


@register.filter
def is_text(value: object) -> bool:
    """Tell whether a JSON value is a text, which is shown in the line."""
    return isinstance(value, str)


@register.filter
def diff(unified: str) -> Iterator[shown.DiffLine]:
    """Split a unified diff into lines."""
    return shown.diff(unified)
