"""Read what was said and done in stretches, so that a long journal is never read as a whole."""

from typing import Final
from uuid import UUID

from lifecycle_core.application import queries
from lifecycle_core.application.reading import journal
from lifecycle_core.application.resources import TranscriptEntry
from lifecycle_core.contract.actor import Actor

ENTRIES: Final = 150
STRETCH: Final = 500
LEAD: Final = 60
TURNS: Final = 6


def after(actor: Actor, invocation: UUID, seq: int) -> tuple[list[TranscriptEntry], int | None]:
    """Return the entries after a fact, and the fact after which the next page begins."""
    found: list[TranscriptEntry] = []
    while True:
        page = queries.events(actor, invocation, after=seq, limit=STRETCH)
        for item in page.items:
            seq = item.seq
            entry = journal.entry_of(item)
            if entry is not None:
                found.append(entry)
            if len(found) == ENTRIES:
                return found, seq
        if page.next is None:
            return found, None


def before(actor: Actor, invocation: UUID, kind: str, request: str) -> list[TranscriptEntry]:
    """Return the last entries before a request was made: `kind` is the fact that made it."""
    asked = queries.events(actor, invocation, kind=kind, text=request, limit=1).items
    if not asked:
        return []
    lead = queries.events(actor, invocation, after=max(0, asked[0].seq - LEAD), limit=LEAD).items
    entries = [journal.entry_of(item) for item in lead if item.seq < asked[0].seq]
    return [entry for entry in entries if entry is not None][-TURNS:]
