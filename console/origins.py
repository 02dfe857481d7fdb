"""Let only our own pages open sockets: a socket is not bound by the rules that keep other pages from reading answers."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings

from console import environment

type Scope = dict[str, Any]
type Application = Callable[..., Awaitable[None]]


class OriginGate:
    """Refuse a socket before it is accepted, unless it has exactly one Origin and that one is ours (scheme, host and port)."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Application, send: Application) -> None:
        if is_admitted(scope):
            await self.application(scope, receive, send)
        else:
            await WebsocketDenier()(scope, receive, send)  # type: ignore[no-untyped-call]


def is_admitted(scope: Scope) -> bool:
    """Tell whether a handshake names an origin of ours; a missing, repeated or opaque one is not."""
    given = only(scope, b"origin")
    return given is not None and given in (settings.LIFECYCLE_ORIGINS or served(scope))


def served(scope: Scope) -> tuple[str, ...]:
    """Return the origin under which a local console is being reached, if that is a name of this machine."""
    host = only(scope, b"host")
    if settings.LIFECYCLE_PROFILE != "local" or host is None:
        return ()
    name = urlsplit(f"//{host}").hostname or ""
    name = f"[{name}]" if ":" in name else name
    return (f"http://{host}",) if name in environment.LOOPBACK and name in settings.ALLOWED_HOSTS else ()


def only(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header that is there exactly once and is plain text."""
    values = [value for header, value in scope["headers"] if header == name]
    if len(values) != 1 or not values[0].isascii():
        return None
    return str(values[0].decode("ascii"))
