"""Read lists' filters from the address, where they live, and write them back."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

INBOX = ("kind", "tool", "agent", "delivery", "risk", "text")
LONGEST = 200


def read(request: HttpRequest, names: Iterable[str]) -> dict[str, Any]:
    """Return the filters that are set."""
    given = {name: request.GET.get(name, "").strip()[:LONGEST] for name in names}
    return {name: value for name, value in given.items() if value}


def write(chosen: Mapping[str, str], **more: str | None) -> str:
    """Return the query string of some filters, with its question mark, or nothing."""
    given = {name: value for name, value in {**chosen, **more}.items() if value}
    return f"?{urlencode(given)}" if given else ""
