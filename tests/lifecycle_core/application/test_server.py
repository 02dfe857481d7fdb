"""The end of serving: what the providers keep open is given back, and none keeps the others."""

import pytest

from lifecycle_core.application import bootstrap, server
from lifecycle_core.contract import ports
from lifecycle_core.providers import shells
from lifecycle_core.providers.registry import Registry


class Kept(shells.Shell):
    """A provider that remembers whether it was disposed of, and may fail at it."""

    def __init__(self, key: str, fault: Exception | None = None) -> None:
        super().__init__(key)
        self.fault = fault
        self.disposed = 0

    def dispose(self) -> None:
        self.disposed += 1
        if self.fault:
            raise self.fault


def test_the_end_of_serving_gives_back_every_provider_that_was_used_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    used, stuck, unused = Kept("a"), Kept("b", OSError("still busy")), Kept("c")
    makers: list[tuple[str, ports.Provider]] = [("a", used), ("b", stuck), ("c", unused)]
    registry = Registry([(key, iter([made]).__next__) for key, made in makers])
    registry.start(["a", "b"])
    monkeypatch.setattr(bootstrap, "providers", lambda: registry)
    server.shut_down()
    server.shut_down()
    assert [kept.disposed for kept in (used, stuck, unused)] == [1, 1, 0]
    assert "could not be given back" in caplog.text
