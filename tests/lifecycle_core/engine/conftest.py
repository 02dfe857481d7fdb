"""Give each test a core of its own."""

import pytest

from lifecycle_core.engine.services import Timing
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
