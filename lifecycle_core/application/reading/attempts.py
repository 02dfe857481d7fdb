"""The attempts at one thing: all episodes of a thread, a site and an invocation, whoever gave them their names.

They are found by what their dispatches say: a host names its attempts as it likes. Their order is that in which they were
admitted, which their numbers say, for each has a higher one than those before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q

from lifecycle_core.application.reading import stored
from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.identities import EpisodeRef
from lifecycle_core.engine import composing, dispatches
from lifecycle_core.journal.models import Invocation

# What is stored elsewhere does not say in its row what it is about.
LARGE: Final = '{"$blob"'


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """Attempts like `episode` in their order, and the names that attempts of its invocation have, also at other sites."""

    episode: EpisodeRef
    rows: Sequence[Invocation]
    names: frozenset[str]

    @property
    def last(self) -> Invocation | None:
        return self.rows[-1] if self.rows else None

    def number(self, wanted: int = 1) -> int:
        """Return the number of a further attempt: the wanted one where that is higher than all there are."""
        return max([wanted, *(row.attempt + 1 for row in self.rows)])

    def following(self, row: Invocation) -> Invocation | None:
        """Return the attempt after one of these."""
        places = [place for place, found in enumerate(self.rows, 1) if found.pk == row.pk]
        return self.rows[places[0]] if places and places[0] < len(self.rows) else None

    def next(self) -> tuple[int, EpisodeRef]:
        """Return the number and the episode of the next attempt, under the first of our names that nothing has."""
        number = self.number()
        while (episode := composing.following_episode(self.episode, number)).attempt in self.names:
            number += 1
        return number, episode


def at(tenant: str, episode: EpisodeRef) -> Attempts:
    """Return the attempts at the thing that an episode is an attempt at.

    One statement reads them: whoever finds no follower here also finds the number that the first to follow takes.
    """
    rows, names = [], set[str]()
    for row, found in _of_invocation(tenant, episode):
        names.add(found["attemptIdentity"])
        if found["site"] == episode.site.as_json():
            rows.append(row)
    return Attempts(episode=episode, rows=rows, names=frozenset(names))


def at_same(row: Invocation) -> Attempts | None:
    """Return the attempts at the thing that an invocation is an attempt at; nothing where its dispatch cannot be read."""
    try:
        return at(row.tenant, dispatches.read_episode(_episode(row)))
    except errors.SchemaInvalid:
        return None


def _of_invocation(tenant: str, episode: EpisodeRef) -> Iterator[tuple[Invocation, dict[str, Any]]]:
    """Find the rows of a thread's invocation with the episodes that they are."""
    named = f'"invocationIdentity":{digests.canonical(episode.invocation).decode()}'
    rows = Invocation.objects.filter(tenant=tenant, delivery__identity=episode.thread.delivery.identity)
    rows = rows.filter(Q(dispatched__body__contains=named) | Q(dispatched__body__startswith=LARGE))
    for row in rows.select_related("dispatched").order_by("attempt", "created_at", "id"):
        found = _episode(row)
        if (found.get("thread"), found.get("invocationIdentity")) == (
            episode.thread.as_json(),
            episode.invocation,
        ):
            yield row, found


def _episode(row: Invocation) -> dict[str, Any]:
    value = stored.shown(row.delivery_id)(row.dispatch)
    episode = value.get("episode") if isinstance(value, dict) else None
    return episode if isinstance(episode, dict) else {}
