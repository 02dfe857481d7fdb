"""Use cases over the versions of an agent: list them, and keep one from starting anything any more."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from lifecycle_core.access.models import AgentVersion, AgentWithdrawal
from lifecycle_core.application import agents, bootstrap, commands, permissions
from lifecycle_core.application.reading import invocations
from lifecycle_core.application.resources import VersionItem, WithdrawalItem
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.status import TERMINAL
from lifecycle_core.engine import leases

MOST_REASON: Final = 4000


def listed(actor: Actor, name: str) -> list[VersionItem]:
    """Return the versions of an agent, the newest first. Raises `errors.NotFound`."""
    permissions.check_can_read(actor)
    rows = list(_of(actor.tenant, name).order_by("-created_at", "-pk"))
    if not rows:
        raise errors.NotFound
    return _items(actor, name, rows)


def shown(actor: Actor, name: str, binding: str | None = None) -> VersionItem:
    """Return one version of an agent, the current one where none is named. Raises `errors.NotFound`."""
    permissions.check_can_read(actor)
    return _items(actor, name, [_row(actor.tenant, name, binding)])[0]


def withdraw(
    actor: Actor, name: str, *, binding: str | None = None, reason: str = "", key: str | None = None
) -> VersionItem:
    """Let a version of an agent, the current one where none is named, start nothing any more.

    What runs keeps it. Who registers the same definition again brings it back (`agents.apply`); one that is withdrawn already
    stays as it is. Raises `errors.NotFound`, and `errors.SchemaInvalid` for a reason that cannot be kept.
    """
    permissions.check_can_administer(actor)
    if len(reason) > MOST_REASON or "\0" in reason:
        detail = f"a reason has at most {MOST_REASON} characters, and no NUL among them"
        raise errors.SchemaInvalid(problems=[Problem("/reason", detail)])
    row = _row(actor.tenant, name, binding)
    definition = agents.version(actor.tenant, name, row.binding)
    said = str(leases.without_secrets(bootstrap.services(), actor.tenant, definition, reason))

    def run() -> UUID:
        found, _ = AgentWithdrawal.objects.get_or_create(
            version=row, ended_at=None, defaults={"id": uuid.uuid4(), "by": actor.name, "reason": said}
        )
        return found.pk

    body: Json = {"agent": name, "binding": binding, "reason": reason}
    command = commands.Command.of("withdraw", key, body)
    with transaction.atomic():
        withdrawal = AgentWithdrawal.objects.select_related("version").get(pk=command.once(actor, run))
    return _items(actor, name, [withdrawal.version])[0]


def _row(tenant: str, name: str, binding: str | None) -> AgentVersion:
    chosen = {"current": True} if binding is None else {"binding": binding}
    row = _of(tenant, name).filter(**chosen).first()
    if row is None:
        raise errors.NotFound
    return row


def _of(tenant: str, name: str) -> QuerySet[AgentVersion]:
    return AgentVersion.objects.filter(tenant_id=tenant, name=name)


def _items(actor: Actor, name: str, rows: Sequence[AgentVersion]) -> list[VersionItem]:
    running = _running(actor, name)
    past: dict[int, list[AgentWithdrawal]] = {row.pk: [] for row in rows}
    for withdrawal in AgentWithdrawal.objects.filter(version__in=rows).order_by("at", "pk"):
        past[withdrawal.version_id].append(withdrawal)
    return [_item(row, past[row.pk], running) for row in rows]


def _running(actor: Actor, name: str) -> Mapping[str, int]:
    """Count the invocations of an agent that have not ended, by version, as far as the actor may see them."""
    rows = invocations.visible(actor).filter(agent=name).exclude(status__in=TERMINAL)
    return Counter(rows.values_list("agent_binding", flat=True))


def _item(row: AgentVersion, past: Sequence[AgentWithdrawal], running: Mapping[str, int]) -> VersionItem:
    withdrawn = any(withdrawal.ended_at is None for withdrawal in past)
    return VersionItem(
        agent=row.name,
        binding=row.binding,
        state="withdrawn" if withdrawn else "current" if row.current else "replaced",
        current=row.current,
        registered_at=_ms(row.created_at),
        running=running.get(row.binding, 0),
        withdrawals=[
            WithdrawalItem(
                by=each.by,
                at=_ms(each.at),
                reason=each.reason,
                ended_by=each.ended_by or None,
                ended_at=_ms(each.ended_at) if each.ended_at else None,
            )
            for each in past
        ],
    )


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
