"""Providers are known by exact keys, made when used, and given back."""

import threading
from typing import cast

import pytest

from lifecycle_core.contract import errors, ports
from lifecycle_core.providers import shells
from lifecycle_core.providers.registry import Registry


class Recorder:
    """A provider that remembers whether it was disposed of."""

    def __init__(self, key: str, fault: Exception | None = None) -> None:
        self.key = key
        self.fault = fault
        self.disposed = 0

    def open(self, request: ports.SessionRequest) -> ports.NativeSession:
        raise NotImplementedError

    def restore(self, request: ports.SessionRequest) -> ports.NativeSession:
        raise NotImplementedError

    def dispose(self) -> None:
        self.disposed += 1
        if self.fault:
            raise self.fault


def failing() -> ports.Provider:
    raise RuntimeError("no disk")


def test_only_a_provider_that_is_used_is_made_and_only_once() -> None:
    made: list[str] = []

    def factory(key: str) -> ports.Provider:
        made.append(key)
        return Recorder(key)

    registry = Registry([("a", lambda: factory("a")), ("b", lambda: factory("b"))])
    assert registry.get("a") is registry.get("a")
    assert made == ["a"]
    assert registry.keys == ("a", "b")


def test_nobody_waits_while_another_provider_is_made() -> None:
    going, done = threading.Event(), threading.Event()

    def slow() -> ports.Provider:
        going.set()
        assert done.wait(30)
        return shells.Shell(shells.CODEX)

    registry = Registry([(shells.CODEX, slow), (shells.COPILOT, lambda: shells.Shell(shells.COPILOT))])
    making = threading.Thread(target=registry.get, args=(shells.CODEX,))
    making.start()
    assert going.wait(30)
    assert registry.get(shells.COPILOT).key == shells.COPILOT
    done.set()
    making.join(30)
    assert registry.get(shells.CODEX).key == shells.CODEX


def test_a_key_that_comes_twice_is_refused() -> None:
    with pytest.raises(errors.ConfigurationInvalid):
        Registry([("a", failing), ("a", failing)])


@pytest.mark.parametrize("key", ["b", "A", "a ", ""])
def test_another_key_is_refused_and_nothing_stands_in_for_it(key: str) -> None:
    with pytest.raises(errors.ConfigurationInvalid):
        Registry([("a", lambda: Recorder("a"))]).get(key)


def test_a_failed_start_gives_back_what_was_made() -> None:
    first = Recorder("a")
    registry = Registry([("a", lambda: first), ("b", failing)])
    with pytest.raises(RuntimeError, match="no disk"):
        registry.start(["a", "b"])
    assert first.disposed == 1


def test_a_provider_under_another_key_is_given_back_and_refused() -> None:
    wrong = Recorder("z")
    with pytest.raises(errors.ConfigurationInvalid):
        Registry([("a", lambda: wrong)]).get("a")
    assert wrong.disposed == 1


def test_dispose_reaches_every_provider_once_even_when_one_fails() -> None:
    providers = [Recorder("a"), Recorder("b", RuntimeError("stuck")), Recorder("c")]
    registry = Registry([(provider.key, iter([provider]).__next__) for provider in providers])
    registry.start(["a", "b", "c"])
    with pytest.raises(ExceptionGroup):
        registry.dispose()
    registry.dispose()
    assert [provider.disposed for provider in providers] == [1, 1, 1]
    with pytest.raises(errors.ConfigurationInvalid):
        registry.get("a")


@pytest.mark.parametrize("key", [shells.COPILOT, shells.CODEX])
def test_a_shell_refuses_to_open_and_to_restore(key: str) -> None:
    shell: ports.Provider = shells.Shell(key)
    request = cast(ports.SessionRequest, None)
    with pytest.raises(errors.ProviderNotImplemented):
        shell.open(request)
    with pytest.raises(errors.ProviderNotImplemented):
        shell.restore(request)
    assert shell.key == key
    shell.dispose()
