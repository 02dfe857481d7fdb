"""Keep keys in files that only the server's user can read; whoever comes first makes a missing one."""

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def load(folder: Path, name: str, make: Callable[[], str] = lambda: secrets.token_urlsafe(64)) -> str:
    """Return the text of a key file, made when it is missing. Raises `OSError` when that is impossible."""
    path = folder / name
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        _create(path, make())
    return path.read_text(encoding="ascii").strip()


def found(folder: Path, name: str) -> str:
    """Return the text of a key file, nothing when there is none."""
    try:
        return (folder / name).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def prepend(folder: Path, name: str, line: str) -> None:
    """Put a line before those of a key file. However many processes do so at once, no line gets lost."""
    with _alone(folder):
        replace(folder, name, f"{line}\n{found(folder, name)}".strip())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # which unlocks


def replace(folder: Path, name: str, text: str) -> None:
    """Put new text into a key file so that a reader sees the old one or the new one, never a part."""
    path = folder / name
    _write_beside(path, text).replace(path)


def _create(path: Path, text: str) -> None:
    """Create a file with its text at once; the first of several processes wins."""
    beside = _write_beside(path, text)
    try:
        os.link(beside, path)
    except FileExistsError:
        pass
    finally:
        beside.unlink()


def _write_beside(path: Path, text: str) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    return beside
