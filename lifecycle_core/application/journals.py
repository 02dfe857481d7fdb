"""Check and export journals."""

import json
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from lifecycle_core.application import permissions
from lifecycle_core.application.reading import invocations as rows
from lifecycle_core.application.reading import journal as facts
from lifecycle_core.application.resources import EventItem, Verification
from lifecycle_core.contract.actor import Actor
from lifecycle_core.journal import verification


def verify(actor: Actor, *, invocation: UUID | None = None) -> Verification:
    """Check the hash chain of one journal or of all of the tenant's; the answer names the first broken event."""
    permissions.check_can_verify(actor)
    if invocation is not None:
        rows.row(actor, invocation)
    return _told(verification.verify(actor.tenant, invocation))


def verify_export(lines: Iterable[str]) -> Verification:
    """Check the lines of an export, with nothing but the lines. Raises `ValueError` or `KeyError` for other lines."""
    return _told(verification.verify_export(lines))


def _told(found: verification.Verification) -> Verification:
    return Verification(
        intact=found.intact, events=found.events, invocations=found.invocations, broken=found.broken
    )


def export(actor: Actor, *, invocation: UUID | None = None) -> Iterator[str]:
    """Yield the facts of one journal, or of all of the tenant's, as lines of JSON (NDJSON), journal by journal."""
    permissions.check_can_export(actor)
    wanted = (
        [rows.row(actor, invocation)]
        if invocation is not None
        else rows.visible(actor).order_by("created_at", "id")
    )
    for found in wanted:
        for item in facts.all_events(found):
            yield json.dumps(_line(str(found.pk), item), ensure_ascii=False, separators=(",", ":")) + "\n"


def _line(invocation: str, item: EventItem) -> dict[str, Any]:
    line = {"invocation": invocation, **vars(item)}
    if not item.corrupt:
        del line["corrupt"]
    return line
