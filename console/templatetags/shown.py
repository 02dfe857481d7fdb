"""Show what an agent wrote. Its text reaches a page through these tags only."""

import json
from collections.abc import Iterator
from typing import Final

from django import template

from console import shown
from lifecycle_core.contract import digests
from lifecycle_core.contract.display import Display

register = template.Library()

GIST: Final = 240


@register.inclusion_tag("parts/text.html")
def text(value: object) -> dict[str, object]:
    """Show a short text in the line."""
    return {"display": value if isinstance(value, Display) else shown.text(value)}


@register.inclusion_tag("parts/block.html", name="block_text")
def block(value: object, *, fold: bool = True) -> dict[str, object]:
    """Show a text in full, folded where it is long."""
    display = value if isinstance(value, Display) else shown.text(value)
    return {"display": display, "long": fold and shown.is_long(display)}


@register.inclusion_tag("parts/value.html")
def value(value: object) -> dict[str, object]:
    """Show a JSON value with all its members."""
    return {"node": shown.tree(value)}


@register.filter
def pretty(value: object) -> str:
    """Return indented JSON whose unseen characters are escaped."""
    return shown.pretty(value)


@register.filter
def diff(unified: str) -> Iterator[shown.DiffLine]:
    """Split a unified diff into lines."""
    return shown.diff(unified)


@register.filter
def plain(value: object) -> str:
    """Return a short text with its unseen characters spelt out, for places that hold no elements."""
    return shown.text(value).text


@register.inclusion_tag("parts/text.html")
def gist(payload: object) -> dict[str, object]:
    """Show the beginning of a payload in one line."""
    return {"display": shown.text(json.dumps(digests.thaw(payload), ensure_ascii=False)[:GIST])}
