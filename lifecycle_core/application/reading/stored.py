"""Read stored values, wherever their bytes lie."""

from collections.abc import Callable
from uuid import UUID

from django.db import connection

from lifecycle_core.contract.digests import Json
from lifecycle_core.journal import blobs, sql


def reader(delivery: UUID) -> Callable[[str], Json]:
    """Return how to read the stored values of a delivery."""
    load = blobs.loader(sql.runner(connection), delivery)
    return lambda text: blobs.unfold(text, load)
