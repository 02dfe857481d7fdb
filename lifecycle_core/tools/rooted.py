"""Files beneath a root that no name, link or race can leave.

A check of a name and a later use of the same name are two steps between which the name can come to mean something else. So
nothing here resolves a name and opens the result: the kernel resolves while it opens (`openat2`, which refuses every link and
every way out of the root), or, where it cannot, each folder is opened from the handle of the one above without following
links. What follows works on those handles only.
"""

import ctypes
import errno
import functools
import heapq
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lifecycle_core.contract.ports import BindingChanged, ToolError
from lifecycle_core.tools import paths

SYS_OPENAT2: Final = 437  # the same number on every architecture
RESOLVE: Final = 0x08 | 0x04 | 0x02  # RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
MAX_TRIES: Final = 64
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe or device must not block, and a terminal must not become ours, before we have seen what it is.
FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@dataclass(frozen=True, kw_only=True)
class Found:
    """A regular file as it is now."""

    content: bytes
    permissions: int
    links: int = 1


@contextmanager
def root(folder: Path | None) -> Iterator[int]:
    """Give the handle of a workspace. Raises `ToolError` NO_WORKSPACE where there is none."""
    if folder is None:
        raise ToolError("NO_WORKSPACE", "this agent has no workspace")
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as cause:
        raise ToolError("NO_WORKSPACE", f"the workspace cannot be opened: {cause.strerror}") from cause
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def opened(handle: int, path: str, flags: int) -> Iterator[int]:
    """Give the handle of a normalised path beneath another handle. Raises `ToolError`."""
    try:
        inner = open_beneath(handle, path, flags)
    except OSError as cause:
        raise refusal(cause, path) from cause
    try:
        yield inner
    finally:
        os.close(inner)


def open_beneath(handle: int, path: str, flags: int) -> int:
    """Open a normalised path beneath a handle. Raises `OSError`, ELOOP for a link anywhere on the way."""
    if kernel_confines():
        return _openat2(handle, path, flags)
    return walk(handle, path, flags)


@functools.cache
def kernel_confines() -> bool:
    """Tell whether this kernel has `openat2` and lets us use it."""
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(_openat2(here, ".", FOLDER))
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(here)


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


@functools.cache
def _syscall() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call


def _openat2(handle: int, path: str, flags: int) -> int:
    how = _OpenHow(flags=flags, mode=0, resolve=RESOLVE)
    for _ in range(MAX_TRIES):
        given = (
            ctypes.c_int(handle),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(24),
        )
        inner = _syscall()(ctypes.c_long(SYS_OPENAT2), *given)
        if inner >= 0:
            return inner
        code = ctypes.get_errno()
        if code not in (errno.EINTR, errno.EAGAIN):  # EAGAIN: something was renamed while the kernel resolved
            break
    raise OSError(code, os.strerror(code), path)


def walk(handle: int, path: str, flags: int) -> int:
    """Open a path folder by folder, following no link; the way of kernels without `openat2`."""
    *folders, name = path.split("/")
    with _descended(handle, folders, make=False) as inner:
        return _step(inner, name, flags | os.O_NOFOLLOW)


@contextmanager
def _descended(handle: int, folders: list[str], *, make: bool) -> Iterator[int]:
    at = os.dup(handle)
    try:
        for folder in folders:
            inner = _made(at, folder) if make else _step(at, folder, FOLDER)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def _step(at: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=at)
    except NotADirectoryError as cause:
        # Asked for a folder without following links, a kernel calls a link "not a directory".
        if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from cause
        raise


def _made(at: int, name: str) -> int:
    try:
        return _step(at, name, FOLDER)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=at)
            os.fsync(at)
        return _step(at, name, FOLDER)


def read(handle: int, path: str, limit: int) -> Found:
    """Return a regular file of at most `limit` bytes. Raises `ToolError`."""
    with opened(handle, path, FILE) as file:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            raise ToolError("NOT_A_FILE", f"{path} is not a regular file")
        content = _read_at_most(file, limit + 1) if seen.st_size <= limit else None
        if content is None or len(content) > limit:
            raise ToolError("TOO_LARGE", f"{path} is larger than {limit} bytes")
        return Found(content=content, permissions=stat.S_IMODE(seen.st_mode) & 0o777, links=seen.st_nlink)


def _read_at_most(file: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0 and (part := os.read(file, min(count, 1 << 20))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def entries(handle: int, path: str, most: int) -> list[tuple[str, str]]:
    """Return the first `most` names in a folder with what they are (directory, file, symlink, other), ordered by name."""
    with opened(handle, path, FOLDER) as folder, os.scandir(folder) as found:
        return heapq.nsmallest(most, ((_shown(entry.name), _kind(entry)) for entry in found))


def _shown(name: str) -> str:
    """Spell out bytes of a name that are no text; such a name cannot be opened anyway."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def write(
    handle: int, path: str, content: bytes, *, mark: str, expected: Callable[[Found | None], bool], limit: int
) -> None:
    """Write a file as a whole, making its folders; a reader sees the old content or the new, never a part.

    `expected` is asked about the file just before it changes hands; `BindingChanged` is raised when it says no. `mark` begins
    the name of the temporary file, so that `clear` finds what a crash left.
    """
    *folders, name = path.split("/")
    with _errors_named(path), _descended(handle, folders, make=True) as folder:
        before = current(folder, name, limit)
        temporary = f"{mark}{secrets.token_hex(6)}.tmp"
        try:
            _fill(folder, temporary, content, before)
            if not expected(current(folder, name, limit)):
                raise BindingChanged(f"{path} has changed")
            _hand_over(folder, temporary, name, creates=before is None)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
        os.fsync(folder)


def current(handle: int, path: str, limit: int) -> Found | None:
    """Return a file as it is now, or nothing when there is none. Raises `ToolError` for what is no such file."""
    try:
        return read(handle, path, limit)
    except ToolError as problem:
        if problem.code == "NOT_FOUND":
            return None
        raise


def _fill(folder: int, name: str, content: bytes, before: Found | None) -> None:
    file = os.open(name, CREATE, 0o666, dir_fd=folder)
    try:
        if before is not None:
            os.fchmod(file, before.permissions)
        left = memoryview(content)
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    finally:
        os.close(file)


def _hand_over(folder: int, temporary: str, name: str, *, creates: bool) -> None:
    if creates:
        # A link, unlike a rename, never replaces what somebody else has put there in the meantime.
        try:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError as cause:
            raise BindingChanged(f"{name} has appeared") from cause
        except OSError as cause:
            if cause.errno not in _NO_HARD_LINKS:
                raise
        else:
            return
    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def clear(handle: int, path: str, mark: str) -> None:
    """Remove temporary files that a crash left beside a file."""
    folder = path.rpartition("/")[0] or paths.ROOT
    with suppress(ToolError), opened(handle, folder, FOLDER) as inner:
        with os.scandir(inner) as found:
            left = [entry.name for entry in found if entry.name.startswith(mark)]
        for name in left:
            with suppress(OSError):
                os.unlink(name, dir_fd=inner)


@contextmanager
def _errors_named(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        raise refusal(cause, path) from cause


def refusal(cause: OSError, path: str) -> ToolError:
    """Return what an agent is told of a failure of the file system; `cause` never shows a path outside the workspace."""
    code, detail = _REFUSALS.get(cause.errno or 0, ("FILE_ERROR", os.strerror(cause.errno or errno.EIO)))
    return ToolError(code, f"{path}: {detail}")


_REFUSALS: Final = {
    errno.ENOENT: ("NOT_FOUND", "there is no such file or folder"),
    errno.ELOOP: ("LINK_REFUSED", "a symbolic link lies on the way; links are not followed"),
    errno.EXDEV: ("PATH_REFUSED", "the path leaves the workspace"),
    errno.ENAMETOOLONG: ("PATH_REFUSED", "the path is too long"),
    errno.ENOTDIR: ("NOT_A_FOLDER", "a part of the path is not a folder"),
    errno.EISDIR: ("NOT_A_FILE", "this is a folder"),
    errno.ENXIO: ("NOT_A_FILE", "this is not a regular file"),
    errno.ENODEV: ("NOT_A_FILE", "this is not a regular file"),
    errno.EACCES: ("ACCESS_DENIED", "the operating system does not allow it"),
    errno.EPERM: ("ACCESS_DENIED", "the operating system does not allow it"),
    errno.EROFS: ("ACCESS_DENIED", "the workspace is read-only"),
    errno.ENOSPC: ("NO_SPACE", "the disk is full"),
    errno.EDQUOT: ("NO_SPACE", "the quota is used up"),
}
