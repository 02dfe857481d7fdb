"""Sessions by their affinity: who shares one, who holds it now, and who waits for it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from lifecycle_core.application.reading import invocations, paging
from lifecycle_core.application.resources import AffinityItem, AffinityMember, Page
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.status import Status
from lifecycle_core.journal.models import Invocation, Session


def visible(actor: Actor) -> QuerySet[Session]:
    """Return the sessions of which an actor may see an invocation; `since` is when the first of them was admitted."""
    members = invocations.visible(actor).filter(tenant=OuterRef("tenant"), affinity=OuterRef("affinity"))
    rows = Session.objects.filter(Exists(members), tenant=actor.tenant).select_related("delivery")
    return rows.annotate(since=members.order_by("created_at").values("created_at")[:1])


def affinities(
    actor: Actor,
    *,
    delivery: str | None = None,
    shared: bool = False,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[AffinityItem]:
    """Return affinities, newest first; `delivery` is a delivery's identity, `shared` leaves out those of one episode alone."""
    rows = visible(actor)
    if delivery:
        rows = rows.filter(delivery__identity=delivery)
    if shared:
        rows = rows.filter(isolation="shared")
    return paging.newest_first(rows, "since", cursor, limit, lambda found: items(actor, found))


def affinity(actor: Actor, affinity: UUID) -> AffinityItem:
    """Return one affinity. Raises `errors.NotFound`."""
    return _one(actor, visible(actor).filter(pk=affinity))


def affinity_of(actor: Actor, invocation: UUID) -> AffinityItem:
    """Return the affinity of an invocation. Raises `errors.NotFound`."""
    found = invocations.row(actor, invocation)
    return _one(actor, visible(actor).filter(affinity=found.affinity))


def _one(actor: Actor, rows: QuerySet[Session]) -> AffinityItem:
    found = rows.first()
    if found is None:
        raise errors.NotFound
    return items(actor, [found])[0]


def items(actor: Actor, rows: Sequence[Session]) -> list[AffinityItem]:
    """Shape rows, with those of their invocations that the actor may see."""
    members = _members(actor, [found.affinity for found in rows])
    return [_item(found, members[found.affinity]) for found in rows]


def _members(actor: Actor, affinities: list[str]) -> Mapping[str, list[Invocation]]:
    members: defaultdict[str, list[Invocation]] = defaultdict(list)
    for found in invocations.visible(actor).filter(affinity__in=affinities).order_by("created_at", "id"):
        members[found.affinity].append(found)
    return members


def _item(found: Session, members: list[Invocation]) -> AffinityItem:
    seen = {member.pk for member in members}
    return AffinityItem(
        id=str(found.pk),
        identity=found.affinity,
        delivery=found.delivery.identity,
        delivery_id=str(found.delivery_id),
        provider=found.provider,
        isolation=found.isolation,
        compatibility=found.compatibility,
        scope_value=found.scope_value,
        binding=found.binding,
        opaque_identity=found.opaque_identity,
        generation=found.generation,
        messages=found.length,
        holder=str(found.holder) if found.holder in seen else None,
        held=found.holder is not None,
        invocations=[_member(found, member) for member in members],
    )


def _member(session: Session, member: Invocation) -> AffinityMember:
    waits = member.status == Status.STARTING and session.holder not in (None, member.pk)
    return AffinityMember(
        id=str(member.pk),
        agent=member.agent,
        action=member.action,
        attempt=member.attempt,
        status=member.status,
        generation=member.generation,
        waits=waits,
        created_at=member.created_at,
    )
