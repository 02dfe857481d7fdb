"""Cancel and retire deliveries."""

from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction

from lifecycle_core.application import (
    bootstrap,
    cleaning,
    commands,
    endings,
    permissions,
    queries,
    sessions,
    steering,
)
from lifecycle_core.application.reading import deliveries as rows
from lifecycle_core.application.resources import DeliveryItem, TombstoneItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.invocation import CancelReason

MAX_AUTHORIZATION: Final = 200


def cancel(
    actor: Actor,
    delivery: UUID,
    *,
    reason: CancelReason = "DELIVERY_CANCELLED",
    comment: str = "",
    key: str | None = None,
) -> DeliveryItem:
    """Cancel every invocation of a delivery that has not ended."""
    found = rows.row(actor, delivery)
    permissions.check_can_cancel_delivery(actor)
    body: Json = {"delivery": str(delivery), "reason": reason, "comment": comment}

    before = {row.pk: row.status for row in found.invocations.all()}
    said = {row.pk: cleaning.text(row, comment) for row in found.invocations.all()}

    def run() -> UUID:
        with transaction.atomic():
            # All of them before the first writes a fact: the feed's head is always the last lock.
            for invocation in bootstrap.journal().hold(found.pk):
                words = said.get(invocation, "")  # nothing for one that was started a moment ago
                status = steering.control().cancel(invocation, reason=reason, by=actor.name, comment=words)
                endings.show(invocation, before.get(invocation, ""), status)
        return found.pk

    return queries.delivery(actor, commands.Command.of("cancel-delivery", key, body).once(actor, run))


def retire(
    actor: Actor,
    delivery: UUID,
    *,
    authorization: str,
    manifest_binding: str | None = None,
    activation_binding: str | None = None,
    key: str | None = None,
) -> TombstoneItem:
    """Delete a delivery for good, in one transaction with the tombstone that remains.

    The same authorization gets the same fact again; another one is refused (`errors.RetirementNotAuthorized`), and so are
    bindings that do not match exactly. Raises `errors.DeliveryBusy` while an invocation is starting, running or unknown, and
    `errors.SecretInArguments` for an authorization with a secret of the delivery's agents, which would outlive them.
    """
    permissions.check_can_retire(actor)
    _check(authorization)
    cleaning.check_authorization(actor.tenant, delivery, authorization)
    bindings: Json = [manifest_binding, activation_binding]
    body: Json = {"delivery": str(delivery), "authorization": authorization, "bindings": bindings}

    def run() -> UUID:
        natives = sessions.of(delivery)
        retired = steering.control().retire(
            actor.tenant,
            delivery,
            authorization=authorization,
            by=actor.name,
            manifest_binding=manifest_binding,
            activation_binding=activation_binding,
        )
        transaction.on_commit(partial(sessions.forget, natives), robust=True)
        return retired

    return queries.tombstone(actor, commands.Command.of("retire", key, body).once(actor, run))


def _check(authorization: str) -> None:
    if not authorization.strip() or len(authorization) > MAX_AUTHORIZATION or not authorization.isprintable():
        detail = f"an authorization has 1 to {MAX_AUTHORIZATION} printable characters"
        raise errors.SchemaInvalid(problems=[Problem("/authorization", detail)])
