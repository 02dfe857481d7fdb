"""The benches by name, and how to run them: here, or each database in a process of its own."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

from django.db import connection

from lifecycle_core.application.bench import chain, disk, toolcall, transitions
from lifecycle_core.application.bench.figures import Figure, Options
from lifecycle_core.contract import errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal.models import Invocation
from lifecycle_core.testing import disposable

BENCHES: Final[Mapping[str, Callable[[Options], Iterator[Figure]]]] = {
    "toolcall": toolcall.measure,
    "transitions": transitions.measure,
    "chain": chain.measure,
    "disk": disk.measure,
}


def check(names: Sequence[str]) -> None:
    """Refuse a bench that is not there. Raises `errors.ConfigurationInvalid`."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        detail = f"There is no bench {', '.join(unknown)}. Benches: {', '.join(BENCHES)}."
        raise errors.ConfigurationInvalid(detail=detail)


def here(names: Sequence[str], options: Options) -> Iterator[dict[str, Json]]:
    """Measure on the database of the settings; all benches where none is named.

    Raises `errors.ConfigurationInvalid` for a database that holds something: a bench leaves its invocations there.
    """
    check(names)
    if Invocation.objects.exists():
        raise errors.ConfigurationInvalid(detail="A bench runs on an empty database only.")
    for name in names or BENCHES:
        for figure in BENCHES[name](options):
            yield figure.as_json(connection.vendor)


def elsewhere(command: Sequence[str], database: str | None) -> Iterator[dict[str, Json]]:
    """Let a command measure on disposable databases, in processes of its own, and give its figures as they come.

    That is a SQLite file, and PostgreSQL where its wheel is installed; or what `database` names: `sqlite`, or the URL of a
    PostgreSQL database, in which a schema is made and dropped. Raises `errors.ConfigurationInvalid`.
    """
    for place in _places(database):
        try:
            with place as environ:
                yield from (json.loads(line) for line in disposable.lines(command, environ))
        except (disposable.CommandFailed, disposable.Unreachable) as failure:
            raise errors.ConfigurationInvalid(detail=f"Nothing could be measured: {failure}.") from failure


def _places(database: str | None) -> list[AbstractContextManager[disposable.Environ]]:
    if database is None:
        more = [disposable.postgresql()] if disposable.has_postgresql() else []
        return [disposable.sqlite(), *more]
    if database == "sqlite":
        return [disposable.sqlite()]
    if database.startswith(("postgresql://", "postgres://")):
        return [disposable.schema(database)]
    raise errors.ConfigurationInvalid(
        detail="--database is sqlite, or the URL of a PostgreSQL database: postgresql://…"
    )
