"""Tell the page which colours its reader wants."""

from typing import Final

from django import template
from django.template import Context

register = template.Library()

COOKIE: Final = "theme"
THEMES: Final = ("auto", "light", "dark")


@register.simple_tag(takes_context=True)
def theme(context: Context) -> str:
    """Return the chosen theme, `auto` where nothing valid is chosen."""
    request = context.get("request")
    chosen = request.COOKIES.get(COOKIE, "auto") if request is not None else "auto"
    return chosen if chosen in THEMES else "auto"
