"""Forty agents say their secrets wherever something can be said, and nothing that the console keeps, sends or shows has one."""

import dataclasses
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from console import logs
from lifecycle_core.application import bootstrap, queries
from lifecycle_core.engine.redaction import Redactor
from lifecycle_core.engine.services import Timing
from lifecycle_core.testing import answers
from lifecycle_core.testing.model_server import ModelServer
from tests.console.api.conftest import Api, Bearers
from tests.secrets import haystacks
from tests.secrets.haystacks import Haystack
from tests.secrets.stage import PLACES, Lines, Stage, in_pieces

pytestmark = pytest.mark.django_db(transaction=True)

AGENTS = 40
# Redaction comes before every database: the short form looks through all of the embedded one, and of PostgreSQL at the rest.
WHOLE = [pytest.mark.soak] if settings.DATABASES["default"]["ENGINE"].endswith("postgresql") else []


@pytest.fixture
def log() -> Iterator[Lines]:
    """Hear everything that anybody logs, also what is silenced by default."""
    given = logs.configuration("json")["formatters"]["structured"]
    lines = Lines(given.pop("()")(**given))
    heard = [logging.getLogger(name) for name in ("", "httpcore", "httpx", "asyncio")]
    levels = [logger.level for logger in heard]
    logging.getLogger().addHandler(lines)
    for logger in heard:
        logger.setLevel(logging.DEBUG)
    yield lines
    logging.getLogger().removeHandler(lines)
    for logger, level in zip(heard, levels, strict=True):
        logger.setLevel(level)


@pytest.fixture
def stage(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    desks: dict[str, Path] = {}
    settings.LIFECYCLE_WORKSPACES = desks
    # Every piece of an answer becomes a frame at once, and every secret is cut into pieces.
    eager = dataclasses.replace(bootstrap.services(), timing=Timing(output_interval_ms=0))
    monkeypatch.setattr(bootstrap, "services", lambda: eager)
    monkeypatch.setattr(answers, "parts", in_pieces)
    with ModelServer(lambda request: answers.Answer()) as model:
        yield Stage(Api(Bearers()), model, tmp_path, desks)


def everything(stage: Stage, log: Lines, file: Path, agents: int) -> Iterator[Haystack]:
    """Let agents run, and give all that can be seen of it; of pages and sockets those of some runs."""
    stage.play(agents)
    stage.look()
    retired, *some = stage.runs[:4]  # one of each tenant, each decided in another way
    yield from haystacks.screens(stage, some, haystacks.ASKING)
    stage.go_on()
    yield from (("answer of REST", answer) for answer in stage.answers)
    yield from haystacks.answers(stage, stage.runs[:8])
    yield from haystacks.screens(stage, some)
    yield from haystacks.screens(stage, [retired], haystacks.GONE)
    yield from haystacks.frames(stage, some)
    yield from haystacks.exports()
    yield from haystacks.backup(file)
    yield from haystacks.database()
    yield from haystacks.folder()
    yield from (("log", line) for line in log)


@pytest.mark.parametrize("agents", [pytest.param(AGENTS, marks=WHOLE)])
def test_no_canary_is_found_anywhere(stage: Stage, log: Lines, tmp_path: Path, agents: int) -> None:
    assert agents * PLACES >= 200
    for name, haystack in everything(stage, log, tmp_path / "backup", agents):
        assert stage.flock.found_in(haystack) == [], name
    told = b"".join(stage.answers)
    # None started with its secret, none was edited into having it.
    assert told.count(b"SECRET_IN_ARGUMENTS") >= agents
    ended = Counter(stage.status(run) for run in stage.runs)
    assert ended == {"completed": 16, "failed": 15, "cancelled": 5, "": 4}


SEEN = (
    "answer of REST",
    "REST invocations/{invocation}/events",
    "REST invocations/{invocation}/transcript",
    "REST approvals",
    "page transcript",
    "page journal",
    "page event",
    "feed of second",
    "pages of second",
    "export of second",
    "table journal_event",
    "table journal_sessionmessage",
    "log",
)
EMBEDDED = ("backup database.sqlite3", "folder console.sqlite3")


def test_control_without_redaction_canaries_are_found_everywhere(
    stage: Stage, log: Lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know = Redactor.__init__
    monkeypatch.setattr(Redactor, "__init__", lambda self, secrets: know(self, ()))
    found = {
        name
        for name, haystack in everything(stage, log, tmp_path / "backup", 2)
        if stage.flock.found_in(haystack)
    }
    expected = {*SEEN, *(EMBEDDED if connection.vendor == "sqlite" else ())}
    assert expected - found == set()


def test_what_breaks_tells_nobody_why(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = stage.flock.canary(1)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"cannot use {canary.secret}")

    stage.api.client.raise_request_exception = False
    monkeypatch.setattr(queries, "invocations", broken)
    for answer in (
        stage.api.get("invocations"),
        haystacks.browser("default").get("/invocations/"),
    ):
        assert answer.status_code == 500
        assert stage.flock.found_in(haystacks.content(answer)) == []
