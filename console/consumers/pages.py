"""`/ws/pages`: what the open pages need.

What is the same for all viewers (status chips, lines of the timeline, transcript and journal) is pushed as HTML. What
depends on the viewer (counts, lists, cards) is only hinted at: the page fetches it itself.

The first frame names the view beside the cursor: `{"cursor": …, "view": "invocation:<id>:<depth>"}`. A message has
`previous` and `position` like every frame, `head`, `chips`, `rows` and `hints`.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID

from django.conf import settings
from django.utils.translation import get_supported_language_variant

from console import broadcast, lines
from console.broadcast import Tail
from console.consumers import parts
from console.consumers.following import SIGNED_OUT, FollowingSocket
from console.consumers.parts import Depth, Part
from lifecycle_core.application import queries
from lifecycle_core.application.resources import FeedFrame
from lifecycle_core.contract import errors, events
from lifecycle_core.contract.actor import Permission
from lifecycle_core.contract.status import ACTIVE

VIEW: Final = re.compile(r"invocation:([0-9a-f-]{36}):(timeline|transcript|journal)")
PARTS_AT_ONCE: Final = 50
ASKED: Final = ("approval.", "input.")
SETTLED: Final = ("decided", "expired", "cancelled", "superseded", "answered", "declined")


class PagesSocket(FollowingSocket):
    """Push parts and hints to the pages of one tab."""

    invocation: str = ""
    depth: Depth = "timeline"

    async def refuse(self) -> None:
        """Let the page know that its person is signed out: a refused handshake tells a browser nothing."""
        await self.accept()
        await self.close(SIGNED_OUT, "sign in first")

    async def begin(self, first: dict[str, Any], tail: Tail) -> None:
        """Take the view that the page shows, if its person may see it."""
        self.language = language_of(self.scope)
        named = VIEW.fullmatch(str(first.get("view", "")))
        if named is not None and await self._may_see(named[1]):
            self.invocation, self.depth = named[1], cast(Depth, named[2])
        await super().begin(first, tail)

    async def _may_see(self, invocation: str) -> bool:
        try:
            await broadcast.at_door(queries.invocation, self.visitor.actor, UUID(invocation))
        except (errors.NotFound, errors.Forbidden, ValueError):
            return False
        return True

    async def deliver(self, frames: Sequence[FeedFrame], tail: Tail) -> None:
        """Send what a stretch of facts changes on the page, in messages of a bounded size."""
        for start in range(0, len(frames), PARTS_AT_ONCE):
            stretch = frames[start : start + PARTS_AT_ONCE]
            message = {
                "type": "parts",
                "epoch": self.epoch,
                "previous": self.position,
                "position": stretch[-1].position,
                "head": tail.position,
                "chips": self._chips(stretch),
                "rows": [vars(row) for row in await self._rows(stretch)],
                "hints": hints(stretch),
            }
            await self.send_json(message)
            self.position = stretch[-1].position
            await asyncio.sleep(0)

    def _chips(self, frames: Iterable[FeedFrame]) -> str:
        """Return the newest chip of every invocation whose status changed, if this person may see them all."""
        seen = self.visitor.actor.may(Permission.READ)
        newest = {
            frame.invocation: chip
            for frame in frames
            if (seen or frame.invocation == self.invocation) and (chip := parts.chip(frame, self.language))
        }
        return "".join(newest.values())

    async def _rows(self, frames: Sequence[FeedFrame]) -> list[Part]:
        """Return the rows of the open invocation that are new or changed."""
        own = [frame for frame in frames if frame.invocation == self.invocation] if self.invocation else []
        if not own:
            return []
        if self.depth == "journal":
            return [parts.fact(frame, self.language) for frame in own]
        if self.depth == "transcript":
            return [part for frame in own if (part := parts.entry(frame, self.language)) is not None]
        items = [frame.event for frame in own]
        changed = await broadcast.in_reading(lines.changed, self.visitor.actor.tenant, self.invocation, items)
        return [parts.line(self.invocation, row, self.language) for row in changed]


def hints(frames: Iterable[FeedFrame]) -> dict[str, Any]:
    """Say what to fetch anew: the inbox, single requests, their results, the list of invocations, what waits."""
    kinds = {frame.event.kind for frame in frames}
    settled = {
        str(frame.event.payload.get("approval") or frame.event.payload.get("input"))
        for frame in frames
        if frame.event.kind.startswith(ASKED) and frame.event.kind.endswith(SETTLED)
    }
    asked = any(kind.startswith(ASKED) for kind in kinds)
    return {
        "inbox": asked or bool(kinds & parts.STATUS_AFTER.keys()),
        "waiting": sorted({str(f.invocation) for f in frames if f.event.kind.startswith(ASKED)}),
        "requests": sorted(settled),
        "finished": sorted({str(f.invocation) for f in frames if f.event.kind == "tool.completed"}),
        "started": "invocation.admitted" in kinds,
        "retired": broadcast.RETIRED in kinds,
        "ended": sorted({str(f.invocation) for f in frames if f.event.kind in ENDED}),
    }


# What changes how an invocation ended, or that it has: one that was unknown may go on.
ENDED: Final = frozenset(
    kind
    for kind, status in parts.STATUS_AFTER.items()
    if status not in ACTIVE or kind == events.UnknownContinued.kind
)


def language_of(scope: Mapping[str, Any]) -> str:
    """Return the language of the page: its cookie's, else the browser's, else ours."""
    wanted = [str(scope.get("cookies", {}).get(settings.LANGUAGE_COOKIE_NAME, ""))]
    for name, value in scope["headers"]:
        if name == b"accept-language":
            wanted += [part.partition(";")[0].strip() for part in value.decode("latin1").split(",")]
    for code in filter(None, wanted):
        try:
            return get_supported_language_variant(code.lower())
        except LookupError:
            continue
    return settings.LANGUAGE_CODE
