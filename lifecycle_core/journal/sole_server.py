"""Let one process alone serve a data folder: it holds a lock for its lifetime, and the kernel ends it with the process."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lifecycle_core.contract import errors

LOCK: Final = "server.lock"


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. Raises `errors.ConfigurationInvalid` that names the process which holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as cause:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise errors.ConfigurationInvalid(
                detail=f"Another server runs on {folder} (process {holder}); stop it first."
            ) from cause
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
