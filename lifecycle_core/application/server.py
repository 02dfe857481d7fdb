"""Be the one process that serves a data folder."""

import logging
from contextlib import AbstractContextManager

from django.conf import settings
from django.db import connection

from lifecycle_core.application import bootstrap
from lifecycle_core.journal import backup, sole_server

log = logging.getLogger(__name__)


def sole() -> AbstractContextManager[None]:
    """Hold the folder's lifetime lock. Raises `errors.ConfigurationInvalid` that names the process which holds it."""
    return sole_server.hold(settings.LIFECYCLE_DATA)


def finish_restore() -> None:
    """Carry out a restore that was made ready and interrupted; call it before serving."""
    if connection.vendor == "sqlite":
        native = bootstrap.native_sessions().root
        backup.finish(data=settings.LIFECYCLE_DATA, keys=settings.LIFECYCLE_KEYS, native=native)


def shut_down() -> None:
    """Give back what the providers keep open; call it when nothing runs any more."""
    try:
        bootstrap.providers().dispose()
    except ExceptionGroup:
        log.exception("something of the providers could not be given back")
