"""Give each test a core of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifecycle_core.engine.services import Timing
from tests.lifecycle_core.engine import managed
from tests.lifecycle_core.engine.managed import Managed
from tests.lifecycle_core.engine.world import World


@pytest.fixture
def timing() -> Timing:
    """Return the times that the engine keeps; tests replace it."""
    return Timing()


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch, timing: Timing) -> World:
    made = World(timing)
    made.install(monkeypatch)
    return made


@pytest.fixture
def agent(world: World, key: str, tmp_path: Path) -> Iterator[Managed]:
    """Let the core's agent run in the provider of that key."""
    with managed.managed(world, managed.DRIVERS[key], tmp_path) as made:
        yield made
