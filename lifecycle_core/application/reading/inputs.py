"""Input requests as people see them."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from django.db.models import Q, QuerySet

from lifecycle_core.application.reading import invocations, paging, receipts, stored
from lifecycle_core.application.resources import InputItem, InputState, Page
from lifecycle_core.contract import display, errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.journal.models import InputRequest


def visible(actor: Actor) -> QuerySet[InputRequest]:
    """Return the input requests of the invocations that an actor may see."""
    return InputRequest.objects.filter(invocation__in=invocations.visible(actor).values("pk")).select_related(
        "invocation__delivery"
    )


def row(actor: Actor, input: UUID) -> InputRequest:
    """Return the row of an input request. Raises `errors.NotFound` also for one that the actor may not see."""
    found = visible(actor).filter(pk=input).first()
    if found is None:
        raise errors.NotFound
    return found


def inputs(
    actor: Actor,
    *,
    state: str | None = None,
    invocation: UUID | None = None,
    agent: str | None = None,
    text: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[InputItem]:
    """Return input requests, newest first; `text` is looked for in the prompt and the delivery."""
    given = {"state": state, "invocation_id": invocation, "invocation__agent": agent}
    rows = visible(actor).filter(**{field: value for field, value in given.items() if value})
    if text:
        rows = rows.filter(Q(prompt__icontains=text) | Q(invocation__delivery__identity__icontains=text))
    return paging.newest_first(rows, "requested_at", cursor, limit, items)


def input(actor: Actor, input: UUID) -> InputItem:
    """Return one input request. Raises `errors.NotFound`."""
    return items([row(actor, input)])[0]


def items(rows: Sequence[InputRequest]) -> list[InputItem]:
    """Shape rows."""
    return [_item(found) for found in rows]


def _item(found: InputRequest) -> InputItem:
    read = stored.shown(found.invocation.delivery_id)
    prompt = read(found.prompt)
    asked = prompt if isinstance(prompt, str) else ""
    return InputItem(
        id=str(found.pk),
        state=cast("InputState", found.state),
        invocation=str(found.invocation_id),
        delivery=found.invocation.delivery.identity,
        agent=found.invocation.agent,
        model=found.invocation.model,
        requester=found.invocation.requester,
        request_identity=found.request_identity,
        prompt=asked,
        display=display.display(asked),
        response_schema=read(found.response_schema),
        requested_at=found.requested_at,
        expires_at=found.expires_at,
        answered_by=found.closed_by or None,
        answered_at=found.closed_at,
        answer=read(found.answer),
        receipt=receipts.receipt(found) if found.state == "answered" else None,
    )
