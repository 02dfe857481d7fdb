"""Know how much a socket's peer has not taken yet.

An ASGI server takes whatever is sent; Daphne keeps it in memory without a bound. So our server tells each socket how much is
waiting for its peer, and a socket that is not read stops sending and is closed.
"""

from collections.abc import Mapping
from typing import Any, Final

from daphne.server import Server as DaphneServer

KEY: Final = "lifecycle.waiting_bytes"


class Server(DaphneServer):  # type: ignore[misc]
    """Serve as Daphne does, and let every socket see what its peer has not taken."""

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Add the look at the transport to the scope of a socket."""
        if scope["type"] == "websocket":
            scope[KEY] = lambda: waiting_in(protocol.transport)
        return super().create_application(protocol, scope)


def waiting_in(transport: Any) -> int:
    """Return how many bytes a Twisted transport still holds."""
    if transport is None or not hasattr(transport, "dataBuffer"):
        return 0
    return len(transport.dataBuffer) - int(transport.offset) + int(transport._tempDataLen)


def of(scope: Mapping[str, Any]) -> int:
    """Return how many bytes wait for a socket's peer; 0 on a server that does not tell."""
    look = scope.get(KEY)
    return int(look()) if look is not None else 0
