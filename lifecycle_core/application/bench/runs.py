"""The benches by name, and how to run them: here, or each database in a process of its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from django.db import connection

from lifecycle_core.application.bench import toolcall, transitions
from lifecycle_core.application.bench.figures import Figure, Options
from lifecycle_core.contract import errors
from lifecycle_core.contract.digests import Json

BENCHES: Final[Mapping[str, Callable[[Options], Iterator[Figure]]]] = {
    "toolcall": toolcall.measure,
    "transitions": transitions.measure,
}


def check(names: Sequence[str]) -> None:
    """Refuse a bench that is not there. Raises `errors.ConfigurationInvalid`."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        detail = f"There is no bench {', '.join(unknown)}. Benches: {', '.join(BENCHES)}."
        raise errors.ConfigurationInvalid(detail=detail)


def here(names: Sequence[str], options: Options) -> Iterator[dict[str, Json]]:
    """Measure on the database of the settings, which must hold nothing else; all benches where none is named."""
    check(names)
    for name in names or BENCHES:
        for figure in BENCHES[name](options):
            yield figure.as_json(connection.vendor)
