"""Providers as the contract's tests drive them: each over its real wire, against a model that follows a script."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol
from uuid import UUID

from lifecycle_core.contract import ports
from lifecycle_core.contract.ports import NativeSession, SessionRequest
from lifecycle_core.providers import chat_completions
from lifecycle_core.providers.dsh import provider as dsh
from lifecycle_core.testing.model_server import ModelServer
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import Step, World
from tests.lifecycle_core.providers.dsh.conftest import UNPACKED

KEYS: Final = (chat_completions.KEY, dsh.KEY)


class Driver(Protocol):
    """Be what the tests need of a provider: its key, and a made one that keeps native sessions below a folder."""

    @property
    def key(self) -> str: ...

    def make(self, folder: Path) -> ports.Provider: ...


class Chat:
    key: Final = chat_completions.KEY

    def make(self, folder: Path) -> ports.Provider:
        return chat_completions.create(chat_completions.Configuration())


@dataclass(frozen=True)
class Harness:
    """The harness; the world's clock stands still, so a grace is over only where a test lets time pass."""

    key: ClassVar[str] = dsh.KEY
    grace_ms: int = 0

    def make(self, folder: Path) -> ports.Provider:
        return dsh.create(dsh.Configuration(storage=folder, unpacked=UNPACKED, grace_ms=self.grace_ms))


DRIVERS: Final[dict[str, Driver]] = {driver.key: driver for driver in (Chat(), Harness())}


@dataclass
class Watched:
    """A provider that counts what is asked of it; `fault` is raised in place of the next restore."""

    inner: ports.Provider
    opened: int = 0
    restored: int = 0
    fault: Exception | None = None
    come_back_as: str = ""

    @property
    def key(self) -> str:
        return self.inner.key

    def open(self, request: SessionRequest) -> NativeSession:
        self.opened += 1
        return self.inner.open(request)

    def restore(self, request: SessionRequest) -> NativeSession:
        self.restored += 1
        if self.fault is not None:
            raise self.fault
        return self.inner.restore(request)

    def dispose(self) -> None:
        self.inner.dispose()


@dataclass
class Managed:
    """A core whose agent runs in one provider, over its wire."""

    world: World
    provider: Watched
    server: ModelServer

    def apply(self, **changes: str) -> None:
        """Register the agent anew, with some lines changed."""
        route = {"provider": f'"{self.provider.key}"', "base_url": f'"{self.server.base_url}"'}
        self.world.apply("worker", **(route | changes))

    def run(self, *steps: Step, **given: object) -> UUID:
        return self.world.run(*steps, **given)


@contextmanager
def managed(world: World, driver: Driver, folder: Path) -> Iterator[Managed]:
    """Let the world's agent run in a provider, for the length of a block."""
    with ModelServer(world._script, secret=w.SECRET) as server:
        provider = Watched(driver.make(folder))
        world.providers[driver.key] = provider
        made = Managed(world, provider, server)
        made.apply()
        yield made
        provider.dispose()
