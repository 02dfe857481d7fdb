"""Serve the console from this process: web, sockets and turns together."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from daphne.endpoints import build_endpoint_description_strings
from django.conf import settings
from django.core.management import call_command
from django.utils.module_loading import import_string

from console.consumers.pressure import Server
from lifecycle_core.application import server, sessions

log = logging.getLogger(__name__)

WORKERS: Final = "lifecycle_core.workers.embedded.EmbeddedWorkers"


@contextmanager
def alone() -> Iterator[None]:
    """Be the one process that serves the data folder, with the database in its newest shape.

    Raises `errors.ConfigurationInvalid` that names the process which serves it already.
    """
    with server.sole():
        server.finish_restore()
        call_command("migrate", verbosity=0, interactive=False)
        sessions.forget_retired()
        yield


def serve(host: str, port: int, *, on_ready: Callable[[str], None]) -> int:
    """Serve until a signal ends it; return the exit code. `on_ready` gets the address once everything answers."""
    workers: Any = import_string(WORKERS)(slots=settings.LIFECYCLE_WORKERS)
    daphne: Any = Server(
        application=_application(),
        endpoints=build_endpoint_description_strings(host=host, port=port),
        signal_handlers=True,
        ready_callable=lambda: _ready(daphne, workers, host, on_ready),
        server_name="lifecycle-console",
        websocket_timeout=86_400,
        action_logger=None,
    )
    try:
        daphne.run()
    finally:
        workers.stop()
        server.shut_down()
    if not daphne.listening_addresses:
        print(f"Nothing can listen on {host}:{port}; is it in use?", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _application() -> Any:
    from console.asgi import application

    return application


def _ready(daphne: Any, workers: Any, host: str, on_ready: Callable[[str], None]) -> None:
    workers.start()
    _, port = daphne.listening_addresses[0]
    on_ready(f"http://{host}:{port}/")
