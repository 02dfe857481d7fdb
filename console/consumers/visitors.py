"""Who is at the other end of a socket, and whether he still may be there.

What was true when a socket opened is taken as a name only: a doorkeeper looks at all visitors together, several times in two
seconds, in a few queries, and shows out whoever has signed out, lost the membership or the token, or is no longer active.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from console import actors, broadcast
from lifecycle_core.application import members, tokens
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor

log = logging.getLogger(__name__)

EVERY: Final = 0.6
LONGEST_TOKEN: Final = 200

type Answers = dict["Visitor", Actor | None]


@dataclass(eq=False, kw_only=True)
class Visitor:
    """A socket's peer: by session or by token. `actor` is what he may do as of the last look."""

    actor: Actor
    session: str = ""
    token: str = ""
    gone: asyncio.Event = field(default_factory=asyncio.Event)


async def of(scope: Mapping[str, Any]) -> Visitor:
    """Find out who opens a socket. Raises `errors.Unauthenticated` and `errors.Forbidden`."""
    bearer = [value for name, value in scope["headers"] if name == b"authorization"]
    if bearer:
        token = token_in(bearer)
        return Visitor(actor=await broadcast.at_door(tokens.actor_of, token), token=token)
    key = str(scope["session"].session_key or "")
    actor = await broadcast.at_door(by_session, key)
    return Visitor(actor=actor, session=key)


def token_in(headers: list[bytes]) -> str:
    """Return the token of the one Authorization header."""
    scheme, _space, token = headers[0].decode("latin1").partition(" ")
    if len(headers) != 1 or scheme.lower() != "bearer" or not token.isascii() or len(token) > LONGEST_TOKEN:
        raise errors.Unauthenticated
    return token.strip()


def by_session(key: str) -> Actor:
    """Return the person of a session in the tenant that he has chosen. Raises `errors.Unauthenticated`."""
    user, chosen = signed_in([key]).get(key, (None, ""))
    if user is None:
        raise errors.Unauthenticated
    mine = members.tenants_of(user)
    if not mine:
        raise errors.Forbidden(reason="You are not a member of any tenant.")
    return members.actor_of(user, chosen if chosen in mine else mine[0])


def signed_in(keys: Iterable[str]) -> dict[str, tuple[User, str]]:
    """Return who is signed in under some session keys, and the tenant that each has chosen."""
    rows = Session.objects.filter(session_key__in=set(keys), expire_date__gt=timezone.now())
    stored = {row.session_key: row.get_decoded() for row in rows}
    named = {key: session[SESSION_KEY] for key, session in stored.items() if BACKEND_SESSION_KEY in session}
    people = {str(user.pk): user for user in User.objects.filter(pk__in=set(named.values()), is_active=True)}
    found: dict[str, tuple[User, str]] = {}
    for key, identity in named.items():
        user = people.get(str(identity))
        proof = str(stored[key].get(HASH_SESSION_KEY, ""))
        if user is not None and constant_time_compare(proof, user.get_session_auth_hash()):
            found[key] = user, str(stored[key].get(actors.TENANT, ""))
    return found


def look(visitors: Iterable[Visitor]) -> Answers:
    """Say what each visitor may do now; nothing for whoever has to go."""
    everybody = list(visitors)
    people = signed_in(visitor.session for visitor in everybody if visitor.session)
    known: dict[tuple[str, str], Actor | None] = {}
    answers: Answers = {}
    for visitor in everybody:
        asked = (visitor.session or visitor.token, visitor.actor.tenant)
        if asked not in known:
            known[asked] = still(visitor, people.get(visitor.session))
        answers[visitor] = known[asked]
    return answers


def still(visitor: Visitor, signed: tuple[User, str] | None) -> Actor | None:
    """Return what one visitor may do now in the tenant that he looks at."""
    tenant = visitor.actor.tenant
    try:
        if visitor.token:
            return tokens.actor_of(visitor.token)
        if signed is None or signed[1] not in ("", tenant):
            return None
        return members.actor_of(signed[0], tenant)
    except errors.Refused:
        return None


class Doorkeeper:
    """Looks at all visitors of a loop, while there are any."""

    def __init__(self) -> None:
        self.visitors: set[Visitor] = set()
        self._task: asyncio.Task[None] | None = None

    def admit(self, visitor: Visitor) -> None:
        """Begin to look after a visitor."""
        self.visitors.add(visitor)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(), name="doorkeeper")

    def release(self, visitor: Visitor) -> None:
        """End looking after a visitor who has left."""
        self.visitors.discard(visitor)

    async def _run(self) -> None:
        while self.visitors:
            await asyncio.sleep(EVERY)
            try:
                self._show_out(await broadcast.at_door(look, tuple(self.visitors)))
            except Exception:
                # Who cannot be checked must not stay.
                log.exception("visitors cannot be checked; all are shown out")
                self._show_out(dict.fromkeys(self.visitors))

    def _show_out(self, answers: Answers) -> None:
        for visitor, actor in answers.items():
            if actor is None or actor.permissions != visitor.actor.permissions:
                # Changed rights begin with a new socket, which is judged by them from its first frame on.
                visitor.gone.set()
                self.visitors.discard(visitor)


_doorkeepers: WeakKeyDictionary[asyncio.AbstractEventLoop, Doorkeeper] = WeakKeyDictionary()


def doorkeeper() -> Doorkeeper:
    """Return the doorkeeper of the running loop."""
    return _doorkeepers.setdefault(asyncio.get_running_loop(), Doorkeeper())
