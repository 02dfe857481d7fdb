"""Try a use case whose refusal is shown where the person stands, instead of on a page of its own."""

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
