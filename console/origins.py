"""Let only our own pages open sockets: the rules that keep other pages from reading answers do not bind them."""

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings

from console import environment


class OriginGate:
    """Refuse a socket before it is accepted, unless its one Origin is ours by scheme, host and port."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if is_admitted(scope):
            await self.application(scope, receive, send)
        else:
            await WebsocketDenier()(scope, receive, send)


def is_admitted(scope: Any) -> bool:
    """Tell whether a handshake names an origin of ours; a missing, repeated or opaque one is not."""
    given = only(scope, b"origin")
    return given is not None and given in (settings.LIFECYCLE_ORIGINS or served(scope))


def served(scope: Any) -> tuple[str, ...]:
    """Return the origin under which a local console is being reached, if that is a name of this machine."""
    host = only(scope, b"host")
    if settings.LIFECYCLE_PROFILE != "local" or host is None:
        return ()
    name = urlsplit(f"//{host}").hostname or ""
    name = f"[{name}]" if ":" in name else name
    return (f"http://{host}",) if name in environment.LOOPBACK and name in settings.ALLOWED_HOSTS else ()


def only(scope: Any, name: bytes) -> str | None:
    """Return the value of a header that is there exactly once and is plain text."""
    values = [value for header, value in scope["headers"] if header == name]
    if len(values) != 1 or not values[0].isascii():
        return None
    return str(values[0].decode("ascii"))
