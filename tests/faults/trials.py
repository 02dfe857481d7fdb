"""Carry out one trial: a life that may end at a point, and as many more as it takes to finish the run."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.db import connection

from lifecycle_core.engine.services import Timing
from lifecycle_core.testing import scenarios
from lifecycle_core.testing.http_sink import HttpSink
from lifecycle_core.testing.model_server import ModelServer
from tests.faults import diary, evidence
from tests.faults.diary import Line
from tests.faults.evidence import Evidence
from tests.faults.orders import Order
from tests.harness import reset

ROOT: Final = Path(__file__).resolve().parents[2]
KILLED: Final = -signal.SIGKILL


class Zygote:
    """The process that forks the children, started once for a database."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        own = {"LIFECYCLE_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "console.settings"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.zygote"],
            cwd=ROOT,
            env={**environ, **own},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def child(self, order: Order) -> int:
        """Let a child carry an order out; returns its exit code, or the negative number of the signal that ended it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(order.line() + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a trial left behind. `found` is what each life found, `exits` how each ended, `files` the workspace."""

    scenario: str
    lives: list[list[Line]]
    exits: list[int]
    found: list[Evidence]
    final: Evidence | None
    posts: list[bytes]
    files: dict[str, str]
    all_files: list[str]
    log: str

    @property
    def lines(self) -> list[Line]:
        return [line for life in self.lives for line in life]

    def points(self, life: int = 0) -> list[str]:
        """Return what the points were that a life reached."""
        return [line["what"] for line in self.lives[life] if line["kind"] == "point"]


class Ground:
    """The place of the trials: a prepared database, the scripted model, the endpoint that is posted to."""

    def __init__(self, zygote: Zygote, folder: Path, model: ModelServer, sink: HttpSink) -> None:
        self._zygote = zygote
        self._folder = folder
        self.model = model
        self._sink = sink
        # On the embedded database a new process voids the leases of the last one; elsewhere they run out.
        self._lease_ms = 0 if connection.vendor == "sqlite" else Timing().lease_ms + 1
        self._template = folder / "template"
        self._template.mkdir()
        code = zygote.child(self._order(self._template))
        assert code == 0, (self._template / "log-0").read_text()
        self._baseline = None if connection.vendor == "sqlite" else reset.Baseline.of(connection)

    def trial(
        self,
        scenario: str,
        stops: Sequence[int | None] = (),
        variant: str = "",
        *,
        away_ms: Sequence[int] = (),
    ) -> Trial:
        """Let one life after another run into its stop, and a last one run to the end.

        `away_ms` says for each life how far ahead its clock is; else just far enough for the leases of the last one to run out,
        where they do that.
        """
        folder = self._fresh()
        exits: list[int] = []
        for life, stop_at in enumerate((*stops, None)):
            away = away_ms[life] if away_ms else life * self._lease_ms
            order = self._order(
                folder, scenario=scenario, stop_at=stop_at, life=life, variant=variant, away_ms=away
            )
            exits.append(self._zygote.child(order))
            if exits[-1] != KILLED:
                break
        return self._gathered(folder, scenario, exits)

    def _order(self, folder: Path, **more: object) -> Order:
        own = {"model": self.model.base_url, "secret": self.model.secret, "endpoint": self._sink.url}
        return Order(folder=str(folder), **own, **more)  # type: ignore[arg-type]

    def _fresh(self) -> Path:
        folder = self._folder / "trial"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copytree(self._template / "workspace", folder / "workspace")
        if self._baseline is not None:
            self._baseline.restore(connection)
        else:
            shutil.copy(self._template / "console.sqlite3", folder)
        self._sink.posts.clear()
        return folder

    def _gathered(self, folder: Path, scenario: str, exits: list[int]) -> Trial:
        final = folder / "final"
        return Trial(
            scenario=scenario,
            lives=diary.incarnations(diary.read(folder / "diary")),
            exits=exits,
            found=[evidence.read(folder / f"found-{life}") for life in range(len(exits))],
            final=evidence.read(final) if final.exists() else None,
            posts=[post.body for post in self._sink.posts],
            files=files(folder / "workspace"),
            all_files=[str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()],
            log="".join((folder / f"log-{life}").read_text() for life in range(len(exits))),
        )


def files(folder: Path) -> dict[str, str]:
    """Return every file below a folder with its text."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in found}


@contextlib.contextmanager
def ground(zygote: Zygote, folder: Path) -> Iterator[Ground]:
    """Give a place for trials."""
    secret = secrets.token_urlsafe(24)
    with ModelServer(scenarios.script, secret=secret) as model, HttpSink() as sink:
        yield Ground(zygote, folder, model, sink)


def environment() -> dict[str, str]:
    """Return the environment of a zygote: ours, without what names a data folder."""
    return {name: value for name, value in os.environ.items() if name != "LIFECYCLE_DATA"}
