"""Providers as the contract's tests drive them: each over its real wire, against a model that follows a script."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Protocol
from uuid import UUID

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.contract.ports import NativeSession, SessionRequest
from lifecycle_core.providers import chat_completions
from lifecycle_core.providers.dsh import provider as dsh
from lifecycle_core.providers.dsh import release, storage
from lifecycle_core.testing.model_server import ModelServer
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import Step, World
from tests.lifecycle_core.providers.dsh.conftest import UNPACKED

KEYS: Final = (chat_completions.KEY, dsh.KEY)
needs_harness: Final = pytest.mark.skipif(not release.is_installed(), reason="the extra dsh is not installed")


def on(*keys: str) -> pytest.MarkDecorator:
    """Run a test of the fixture `agent` with each of these providers."""
    marks = {dsh.KEY: needs_harness}
    return pytest.mark.parametrize("key", [pytest.param(key, marks=marks.get(key, ())) for key in keys])


everywhere: Final = on(*KEYS)


class Driver(Protocol):
    """Be what the tests need of a provider: its key, a made one that keeps native sessions below a folder, and its faults."""

    @property
    def key(self) -> str: ...

    def make(self, folder: Path) -> ports.Provider: ...

    def shut(self, agent: "Managed") -> None:
        """See to it that no session can be opened."""

    def lose(self, agent: "Managed") -> None:
        """See to it that no session can be restored."""


class Chat:
    """Chats keep nothing outside of the journal that could be lost, so their faults are raised for them."""

    key: Final = chat_completions.KEY

    def make(self, folder: Path) -> ports.Provider:
        return chat_completions.create(chat_completions.Configuration())

    def shut(self, agent: "Managed") -> None:
        agent.provider.fault = OSError("refused")

    def lose(self, agent: "Managed") -> None:
        agent.provider.fault = LookupError("gone")


@dataclass(frozen=True)
class Harness:
    """The harness; the world's clock stands still, so a grace is over only where a test lets time pass."""

    key: ClassVar[str] = dsh.KEY
    grace_ms: int = 0
    start_seconds: float = 30.0

    def make(self, folder: Path) -> ports.Provider:
        return dsh.create(
            dsh.Configuration(
                storage=folder,
                unpacked=UNPACKED,
                grace_ms=self.grace_ms,
                start_seconds=self.start_seconds,
            )
        )

    def shut(self, agent: "Managed") -> None:
        """Give it no time to start."""
        agent.provider.dispose()
        agent.provider.inner = Harness(start_seconds=0.001).make(agent.folder)

    def lose(self, agent: "Managed") -> None:
        """Delete what it wrote."""
        for log in storage.Storage(agent.folder).files().values():
            log.unlink()


DRIVERS: Final[dict[str, Driver]] = {driver.key: driver for driver in (Chat(), Harness())}


@dataclass
class Watched:
    """A provider that counts what is asked of it and keeps what it opened; `fault` is raised in place of any session."""

    inner: ports.Provider
    opened: int = 0
    restored: int = 0
    fault: Exception | None = None
    sessions: list[NativeSession] = field(default_factory=list)

    @property
    def key(self) -> str:
        return self.inner.key

    def open(self, request: SessionRequest) -> NativeSession:
        self.opened += 1
        self._raise()
        self.sessions.append(self.inner.open(request))
        return self.sessions[-1]

    def restore(self, request: SessionRequest) -> NativeSession:
        self.restored += 1
        self._raise()
        self.sessions.append(self.inner.restore(request))
        return self.sessions[-1]

    def _raise(self) -> None:
        if self.fault is not None:
            raise self.fault

    def dispose(self) -> None:
        self.inner.dispose()


@dataclass
class Managed:
    """A core whose agent runs in one provider, over its wire; what the provider keeps for itself lies in `folder`."""

    world: World
    driver: Driver
    folder: Path
    provider: Watched
    server: ModelServer

    def apply(self, **changes: str) -> None:
        """Register the agent anew, with some lines changed."""
        route = {"provider": f'"{self.provider.key}"', "base_url": f'"{self.server.base_url}"'}
        self.world.apply("worker", **(route | changes))

    def run(self, *steps: Step, **given: object) -> UUID:
        return self.world.run(*steps, **given)

    def shut(self) -> None:
        self.driver.shut(self)

    def lose(self) -> None:
        self.driver.lose(self)

    @property
    def asked(self) -> tuple[int, int]:
        """Return how many sessions were to be opened, and how many restored."""
        return self.provider.opened, self.provider.restored


@contextmanager
def managed(world: World, driver: Driver, folder: Path) -> Iterator[Managed]:
    """Let the world's agent run in a provider, for the length of a block."""
    with ModelServer(world._script, secret=w.SECRET) as server:
        provider = Watched(driver.make(folder))
        world.providers[driver.key] = provider
        made = Managed(world, driver, folder, provider, server)
        made.apply()
        yield made
        provider.dispose()
