"""Back up and restore the embedded database, its keys and native sessions. Whoever may run commands here may do this."""

from pathlib import Path

from django.conf import settings
from django.db import connection

from lifecycle_core.application import bootstrap
from lifecycle_core.contract import errors
from lifecycle_core.journal import backup


def write(file: Path) -> None:
    """Write a backup while everything goes on, replacing the file in one step. Raises `errors.ConfigurationInvalid`."""
    _check_embedded()
    backup.write(
        file,
        keys=settings.LIFECYCLE_KEYS,
        at_ms=bootstrap.clock().now_ms(),
        native=bootstrap.native_sessions().files,
    )


def restore(file: Path) -> None:
    """Put a backup in the place of database and keys; followers of the feed are told to read anew.

    Raises `errors.ConfigurationInvalid` for a file that is no backup, and while a server runs on the data folder.
    """
    _check_embedded()
    native = bootstrap.native_sessions().root
    backup.restore(file, data=settings.LIFECYCLE_DATA, keys=settings.LIFECYCLE_KEYS, native=native)


def _check_embedded() -> None:
    if connection.vendor != "sqlite":
        raise errors.ConfigurationInvalid(
            detail="Back PostgreSQL up with its own tools; this is for the embedded database."
        )
