"""Back the embedded database up while it serves, and restore it, all or nothing.

A backup is one file: the database (large values lie in it), the keys that its secrets need, the logs of native sessions that
lie outside of the database, and a list of all with their digests. It is as secret as the keys. The logs only grow, and are
read after the database: so a restored one never lacks what the restored journal says that it holds.

A restore first makes everything ready beside the database and marks that as complete; only then it touches what is there.
After the mark a crash is no half: `finish` does the rest again. Cursors of before do not fit what is restored, so each feed
gets a new epoch.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from django.db import connections

from lifecycle_core.contract import errors
from lifecycle_core.journal import sole_server
from lifecycle_core.journal.sqlite import writer

FORMAT: Final = "lifecycle-console-backup-1"
MANIFEST: Final = "manifest.json"
DATABASE: Final = "database.sqlite3"
KEYS: Final = "keys"
NATIVE: Final = "native"
STAGING: Final = "restoring"
READY: Final = "ready"
KEPT: Final = ".before-restore"
PATIENCE: Final = 30.0
NEW_EPOCHS: Final = "UPDATE journal_feedhead SET epoch = lower(hex(randomblob(16)))"


def write(
    file: Path,
    *,
    keys: Path,
    at_ms: int,
    native: Callable[[], Mapping[str, Path]] = dict,
    using: str = "default",
) -> None:
    """Write a backup, replacing the file in one step; commits go on meanwhile. Raises `errors.ConfigurationInvalid`.

    `native` tells the logs of native sessions by their path in their folder, once the database is copied.
    """
    connection = connections[using]
    _database(using)
    connection.ensure_connection()
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".backup-") as folder:
        copy = Path(folder) / DATABASE
        with closing(sqlite3.connect(copy)) as target:
            connection.connection.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        files = {DATABASE: copy} | {f"{KEYS}/{key.name}": key for key in _key_files(keys)}
        files |= _native_files(native(), Path(folder) / NATIVE)
        archive = Path(folder) / "archive"
        _pack(archive, files, at_ms)
        archive.replace(file)
    _sync(file.parent)


def restore(
    file: Path, *, data: Path, keys: Path, native: Path | None = None, using: str = "default"
) -> None:
    """Replace database, keys and native sessions by those of a backup.

    Raises `errors.ConfigurationInvalid` while a server runs on the data folder, and for a file that is no backup or is damaged;
    then nothing has changed.
    """
    with sole_server.hold(data):
        finish(data=data, keys=keys, native=native, using=using)
        staging = data / STAGING
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(mode=0o700)
        try:
            _stage(file, staging)
        except (OSError, tarfile.TarError, sqlite3.Error, ValueError, KeyError, TypeError) as cause:
            shutil.rmtree(staging)
            raise errors.ConfigurationInvalid(detail=f"{file} cannot be restored: {cause}") from cause
        (staging / READY).touch()
        _sync(staging)
        finish(data=data, keys=keys, native=native, using=using)


def finish(*, data: Path, keys: Path, native: Path | None = None, using: str = "default") -> bool:
    """Carry out a restore that was made ready; true if there was one. Call it before serving: the last one may have crashed."""
    staging = data / STAGING
    if not (staging / READY).exists():
        return False
    _restore_keys(staging / KEYS, keys)
    if native is not None:
        _restore_native(staging / NATIVE, native)
    with _locked(_database(using)) as path, closing(sqlite3.connect(staging / DATABASE)) as source:
        _copy_into(path, source)
    (staging / READY).unlink()
    _sync(staging)
    shutil.rmtree(staging)
    return True


def _pack(archive: Path, files: dict[str, Path], at_ms: int) -> None:
    listed = {name: _digest(path) for name, path in files.items()}
    manifest = archive.with_name(MANIFEST)
    manifest.write_text(json.dumps({"format": FORMAT, "at": at_ms, "files": listed}))
    descriptor = os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        with tarfile.open(fileobj=stream, mode="w") as tar:
            for name, path in {MANIFEST: manifest, **files}.items():
                tar.add(path, arcname=name, recursive=False)
        stream.flush()
        os.fsync(stream.fileno())


def _stage(file: Path, staging: Path) -> None:
    """Unpack a backup, check every byte of it, and give its feeds new epochs."""
    with tarfile.open(file) as tar:
        tar.extractall(staging, filter="data")
    manifest = json.loads((staging / MANIFEST).read_text())
    if manifest["format"] != FORMAT:
        raise ValueError(f"its format is {manifest['format']!r}")
    there = {str(path.relative_to(staging)): path for path in staging.rglob("*") if path.is_file()}
    del there[MANIFEST]
    if {name: _digest(path) for name, path in there.items()} != manifest["files"]:
        raise ValueError("its files are not those that it lists")
    with closing(sqlite3.connect(staging / DATABASE, isolation_level=None)) as database:
        if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise ValueError("the database is damaged")
        database.execute(NEW_EPOCHS)
    for path in staging.rglob("*"):
        _sync(path)


def _restore_keys(staged: Path, keys: Path) -> None:
    """Put keys in place; one that they replace stays under another name."""
    keys.mkdir(mode=0o700, parents=True, exist_ok=True)
    for key in _key_files(staged):
        place = keys / key.name
        if place.exists() and place.read_bytes() != key.read_bytes():
            place.replace(place.with_name(place.name + KEPT))
        fresh = keys / f".{key.name}.restored"
        shutil.copyfile(key, fresh)
        fresh.chmod(0o600)
        _sync(fresh)
        fresh.replace(place)
    _sync(keys)


def _native_files(found: Mapping[str, Path], copies: Path) -> dict[str, Path]:
    """Copy logs that may be growing, up to their last whole line; one that is retired meanwhile is not copied."""
    files = {}
    for name, path in found.items():
        copy = copies / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            whole = path.read_bytes().rpartition(b"\n")
        except FileNotFoundError:
            continue
        copy.write_bytes(whole[0] + whole[1])
        files[f"{NATIVE}/{name}"] = copy
    return files


def _restore_native(staged: Path, native: Path) -> None:
    """Put native sessions in place, home by home; those of which the backup knows nothing go at the next start."""
    for home in sorted(staged.iterdir()) if staged.is_dir() else ():
        fresh = native / f".{home.name}.restored"
        shutil.rmtree(fresh, ignore_errors=True)
        native.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copytree(home, fresh)
        for path in fresh.rglob("*"):
            _sync(path)
        shutil.rmtree(native / home.name, ignore_errors=True)
        fresh.replace(native / home.name)
        _sync(native)


def _copy_into(path: str, source: sqlite3.Connection) -> None:
    """Replace the content of a database in one transaction, so that its open connections simply see another content."""
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as target:
        target.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        target.execute("PRAGMA journal_mode=WAL").fetchone()
        target.execute("PRAGMA synchronous=FULL")
        source.backup(target)
        target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


@contextmanager
def _locked(path: str) -> Iterator[str]:
    lock = writer.of(path)
    try:
        lock.acquire(PATIENCE)
    except writer.Timeout as cause:
        raise errors.ConfigurationInvalid(detail="Another process is writing to the database.") from cause
    try:
        yield path
    finally:
        lock.release()


def _database(using: str) -> str:
    connection = connections[using]
    if connection.vendor != "sqlite":
        raise errors.ConfigurationInvalid(
            detail="This command is for the embedded database; PostgreSQL has pg_dump and pg_restore."
        )
    return str(connection.settings_dict["NAME"])


def _key_files(folder: Path) -> list[Path]:
    """Return the keys; a hidden file is one that is being written or that a crash has left."""
    found = folder.glob("[!.]*") if folder.is_dir() else ()
    return sorted(path for path in found if path.is_file())


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    """Make a file or the names in a folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
