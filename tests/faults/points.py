"""Number the moments at which a process may die, and die at one of them.

The points are found by tracing, so that a new commit, tool or step on the disk joins by itself: before and after every commit,
before and after every statement that commits on its own, every dispatch and every reconciliation of a tool, and after every
step with which a tool changes a folder. All of this is put around the product from here; the product knows nothing of it.
"""

import dataclasses
import os
import re
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from lifecycle_core.application import bootstrap
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import Preparation, Tool, ToolContext, ToolSpec
from lifecycle_core.journal import feed_head
from lifecycle_core.tools import rooted
from tests.faults.diary import Diary

LONE: Final = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
CHANGES: Final = frozenset({"fsync", "link", "mkdir", "rename", "unlink", "write"})
PLACES: Final = frozenset({"link", "rename"})


class Points:
    """Count the points that a process reaches; it kills itself at number `stop_at`."""

    def __init__(self, diary: Diary, stop_at: int | None) -> None:
        self.diary = diary
        self._stop_at = stop_at
        self._reached = 0

    def reach(self, what: str) -> None:
        """Pass a point, or die at it as if the power of the process were cut."""
        self._reached += 1
        self.diary.write("point", n=self._reached, what=what)
        if self._reached == self._stop_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def rest(self) -> None:
        """Die at none of the points that follow."""
        self._stop_at = None


def install(points: Points) -> None:
    """Put points around everything that may die."""
    _around_commits(points)
    _around_lone_statements(points)
    _around_tools(points)
    setattr(rooted, "os", Steps(points))  # noqa: B010


def _around_commits(points: Points) -> None:
    commit, add = BaseDatabaseWrapper._commit, feed_head.add  # type: ignore[attr-defined]
    kinds: list[str] = []

    def adding(run: Any, rows: Any) -> int:
        kinds.extend(row[3] for row in rows)
        return add(run, rows)

    def committing(self: Any) -> None:
        what = " + ".join(kinds) or "no event"
        kinds.clear()
        points.reach(f"before the commit of {what}")
        commit(self)
        points.reach(f"after the commit of {what}")

    setattr(BaseDatabaseWrapper, "_commit", committing)  # noqa: B010
    setattr(feed_head, "add", adding)  # noqa: B010


def _around_lone_statements(points: Points) -> None:
    def around(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if context["connection"].in_atomic_block or not LONE.match(sql):
            return execute(sql, params, many, context)
        points.reach(f"before {sql[:40]}")
        result = execute(sql, params, many, context)
        points.reach(f"after {sql[:40]}")
        return result

    def created(connection: Any, **_: Any) -> None:
        connection.execute_wrappers.append(around)

    for connection in connections.all(initialized_only=True):
        created(connection)
    connection_created.connect(created, weak=False)


def _around_tools(points: Points) -> None:
    services = bootstrap.services()
    tools = services.tools

    def dispatched(agent: AgentDefinition) -> Mapping[str, Tool]:
        return {name: Dispatched(tool, points) for name, tool in tools(agent).items()}

    pointed = dataclasses.replace(services, tools=dispatched)
    setattr(bootstrap, "services", lambda: pointed)  # noqa: B010


def around_replacing(points: Points) -> None:
    """Put a point after every step with which the set-up changes a folder."""
    for name in ("write_text", "replace", "rename"):
        setattr(Path, name, _pointed(points, name, getattr(Path, name)))


def _pointed(points: Points, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def step(path: Path, *arguments: Any, **options: Any) -> Any:
        result = real(path, *arguments, **options)
        points.reach(f"after {name} of {path.name}")
        return result

    return step


class Dispatched:
    """A tool with points around what it does in the world."""

    def __init__(self, tool: Tool, points: Points) -> None:
        self._tool = tool
        self._points = points

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        return self._tool.prepare(arguments, context)

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        self._points.reach(f"before the dispatch of {self.spec.name}")
        self._points.diary.write("dispatch", call=context.call, tool=self.spec.name)
        result = self._tool.run(arguments, preparation, context)
        self._points.reach(f"after the dispatch of {self.spec.name}")
        return result

    def reconcile(
        self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext
    ) -> Literal["done", "not_done", "unknown"]:
        self._points.reach(f"before {self.spec.name} is asked what happened")
        found = self._tool.reconcile(arguments, preparation, context)
        self._points.reach(f"after {self.spec.name} said {found}")
        return found

    def result_of(self, arguments: dict[str, Json], preparation: Preparation) -> Json:
        return self._tool.result_of(arguments, preparation)


class Steps:
    """The module `os` with a point after every step that changes a folder."""

    def __init__(self, points: Points) -> None:
        self._points = points

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._pointed(name, real) if name in CHANGES else real

    def _pointed(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            result = real(*arguments, **options)
            if name in PLACES:
                self._points.diary.write("placed", name=arguments[1])
            self._points.reach(f"after os.{name} in a dispatch")
            return result

        return step
