"""Count what the journals hold, over all tenants, for whoever watches the machine; no figure tells of content."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from lifecycle_core.journal.models import Approval, Decision, FeedHead, InputRequest, Invocation


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A family of numbers; each value stands under the words of its `labels`."""

    name: str
    help: str
    labels: Sequence[str]
    values: Iterable[tuple[Sequence[str], int]]


def figures() -> list[Figure]:
    """Return the present figures."""
    return [
        Figure(
            name="invocations",
            help="Invocations by status.",
            labels=("tenant", "status"),
            values=_counted(Invocation.objects.all(), "tenant", "status"),
        ),
        Figure(
            name="open_requests",
            help="Approvals and input requests that nobody has answered.",
            labels=("tenant", "kind"),
            values=[*_open(Approval.objects.all(), "approval"), *_open(InputRequest.objects.all(), "input")],
        ),
        Figure(
            name="decisions",
            help="Decisions of people by kind.",
            labels=("tenant", "decision"),
            values=_counted(Decision.objects.all(), "approval__tenant", "decision"),
        ),
        Figure(
            name="feed_head",
            help="The last position of each feed.",
            labels=("tenant",),
            values=[((tenant,), n) for tenant, n in FeedHead.objects.values_list("tenant", "n")],
        ),
    ]


def _counted(rows: QuerySet, *fields: str) -> list[tuple[Sequence[str], int]]:  # type: ignore[type-arg]
    found = rows.values_list(*fields).order_by(*fields).annotate(n=Count("pk"))
    return [(tuple(words), n) for *words, n in found]


def _open(rows: QuerySet, kind: str) -> list[tuple[Sequence[str], int]]:  # type: ignore[type-arg]
    return [((tenant, kind), n) for (tenant,), n in _counted(rows.filter(state="pending"), "tenant")]
