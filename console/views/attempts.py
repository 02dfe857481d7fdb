"""Try what may be refused, where the refusal is no page of its own."""

import uuid
from collections.abc import Callable

from lifecycle_core.contract import errors


def run[T](use_case: Callable[[], T]) -> T | errors.Refused:
    """Return what the use case returns, or its refusal; what the actor may not see or do is still raised."""
    try:
        return use_case()
    except (errors.NotFound, errors.Forbidden, errors.Unauthenticated):
        raise
    except errors.Refused as refused:
        return refused


def find[T](identity: str, query: Callable[[uuid.UUID], T]) -> T | None:
    """Return what an address mentions beside its own subject; nothing when that is not there."""
    try:
        return query(uuid.UUID(identity))
    except (ValueError, errors.NotFound):
        return None
