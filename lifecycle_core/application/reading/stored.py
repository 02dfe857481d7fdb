"""Read stored values, wherever their bytes lie."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection

from lifecycle_core.contract.digests import Json
from lifecycle_core.journal import blobs, sql


def reader(delivery: UUID) -> Callable[[str], Json]:
    """Return how to read the stored values of a delivery."""
    load = blobs.loader(sql.runner(connection), delivery)
    return lambda text: blobs.unfold(text, load)


def mapping(text: str) -> dict[str, Any]:
    """Return a small stored object, which never lies in a blob."""
    value: dict[str, Any] = json.loads(text)
    return value
