"""Read stored values, wherever their bytes lie."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.db import connection

from lifecycle_core.contract import errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal import blobs, sql

UNREADABLE: Final = (ValueError, AttributeError, RecursionError, errors.NotFound)


def reader(delivery: UUID) -> Callable[[str], Json]:
    """Return how to read the stored values of a delivery. It raises one of `UNREADABLE` for one that is corrupt."""
    load = blobs.loader(sql.runner(connection), delivery)
    return lambda text: blobs.unfold(text, load)


def shown(delivery: UUID) -> Callable[[str], Json]:
    """Return how to show the stored values of a delivery; one that cannot be read is shown as it is stored."""
    read = reader(delivery)

    def show(text: str) -> Json:
        try:
            return read(text)
        except UNREADABLE:
            return {"stored": text}

    return show
