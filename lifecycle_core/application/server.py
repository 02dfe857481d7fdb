"""Be the one process that serves a data folder."""

from contextlib import AbstractContextManager

from django.conf import settings

from lifecycle_core.journal import sole_server


def sole() -> AbstractContextManager[None]:
    """Hold the folder's lifetime lock. Raises `errors.ConfigurationInvalid` that names the process which holds it."""
    return sole_server.hold(settings.LIFECYCLE_DATA)
