"""Lists in pages, newest first; a cursor names the last row that was seen, so that new rows shift nothing."""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from lifecycle_core.application.resources import Page
from lifecycle_core.contract import errors
from lifecycle_core.contract.errors import Problem

MAX_LIMIT: Final = 200


def newest_first[Row: Model, Item](
    rows: QuerySet[Row],
    field: str,
    cursor: str | None,
    limit: int,
    shape: Callable[[list[Row]], list[Item]],
) -> Page[Item]:
    """Return one page of rows ordered by a time field and the identity. Raises `errors.SchemaInvalid` for a bad cursor."""
    limit = max(1, min(limit, MAX_LIMIT))
    if cursor:
        at, identity = _read(cursor)
        rows = rows.filter(Q(**{f"{field}__lt": at}) | Q(**{field: at, "id__lt": identity}))
    found = list(rows.order_by(f"-{field}", "-id")[: limit + 1])
    more = len(found) > limit
    found = found[:limit]
    last: Any = found[-1] if found else None
    following = f"{getattr(last, field)}.{last.pk}" if more else None
    return Page(items=shape(found), next=following)


def _read(cursor: str) -> tuple[int, UUID]:
    try:
        at, identity = cursor.split(".", 1)
        return int(at), UUID(identity)
    except ValueError as cause:
        problem = Problem("/cursor", "this is not a cursor of this list")
        raise errors.SchemaInvalid(problems=[problem]) from cause
