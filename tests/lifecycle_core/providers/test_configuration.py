"""A provider is configured with exactly its keys, of exactly their types, frozen at every level; what is wrong is named."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from lifecycle_core.contract import errors, ports
from lifecycle_core.providers import chat_completions, shells
from lifecycle_core.providers.registry import Factory, Registry


@dataclass(frozen=True)
class Store:
    path: Path
    watch: bool


@dataclass(frozen=True)
class Configuration:
    store: Store
    route: Literal["deepseek", "deepseek-official"]
    parallel: int
    seconds: float
    names: tuple[str, ...]
    note: str | None = None


@dataclass
class Changeable:
    name: str = ""


PROPER: Final[dict[str, Any]] = {
    "store": {"path": Path("/var/sessions"), "watch": False},
    "route": "deepseek",
    "parallel": 2,
    "seconds": 1.5,
    "names": ("a",),
    "note": None,
}
MADE: Final = Configuration(Store(Path("/var/sessions"), False), "deepseek", 2, 1.5, ("a",))


class Made:
    """A provider that remembers what it was made of."""

    key = "made"

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration

    def open(self, request: ports.SessionRequest) -> ports.NativeSession:
        raise NotImplementedError

    def restore(self, request: ports.SessionRequest) -> ports.NativeSession:
        raise NotImplementedError

    def dispose(self) -> None:
        """Hold nothing."""


FACTORY: Final = Factory(key="made", configuration=Configuration, create=Made)


@pytest.mark.parametrize("given", [PROPER, MADE])
def test_a_proper_configuration_makes_the_provider(given: Any) -> None:
    provider = Registry([FACTORY.configured(given)]).get("made")
    assert isinstance(provider, Made)
    assert provider.configuration == MADE


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the proper configuration with one value changed."""
    first, _, rest = path.partition(".")
    given = dict(PROPER)
    given[first] = {**given[first], rest: value} if rest else value
    return given


def without(path: str) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    given = dict(PROPER)
    if rest:
        given[first] = {name: value for name, value in given[first].items() if name != rest}
    else:
        del given[first]
    return given


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (changed("extra", 1), "made: extra is not known"),
        (changed("store.refresh", True), "made: store.refresh is not known"),
        (without("route"), "made: route is missing"),
        (without("note"), "made: note is missing"),
        (without("store.path"), "made: store.path is missing"),
        (changed("store.path", Path("var/sessions")), "made: store.path must be an absolute path"),
        (changed("store.path", "/var/sessions"), "made: store.path must be an absolute path"),
        (changed("store", None), "made: store must be a Store"),
        (changed("route", "openai"), "made: route must be one of deepseek, deepseek-official"),
        (changed("parallel", "2"), "made: parallel must be of type int"),
        (changed("parallel", True), "made: parallel must be of type int"),
        (changed("parallel", 2.0), "made: parallel must be of type int"),
        (changed("seconds", 1), "made: seconds must be of type float"),
        (changed("store.watch", 0), "made: store.watch must be of type bool"),
        (changed("names", ["a"]), "made: names can be changed"),
        (changed("names", (["a"],)), "made: names can be changed"),
        (changed("names", "a"), "made: names must be of type tuple"),
        (changed("note", 1), "made: note must be of type str"),
        (changed("note", {}), "made: note can be changed"),
    ],
)
def test_what_is_wrong_is_named_by_its_key_before_anything_is_made(given: dict[str, Any], says: str) -> None:
    made: list[Configuration] = []

    def create(configuration: Configuration) -> ports.Provider:
        made.append(configuration)
        return Made(configuration)

    factory = Factory(key="made", configuration=Configuration, create=create)
    with pytest.raises(errors.ConfigurationInvalid) as refused:
        factory.configured(given)
    assert refused.value.detail == says
    assert made == []


@pytest.mark.parametrize(
    ("store", "names", "says"),
    [
        (Store(Path("sessions"), False), ("a",), "made: store.path must be an absolute path"),
        (Store(Path("/s"), "no"), ("a",), "made: store.watch must be of type bool"),  # type: ignore[arg-type]
        (Store(Path("/s"), False), ["a"], "made: names can be changed"),
        ({"path": Path("/s"), "watch": False}, ("a",), "made: store can be changed"),
    ],
)
def test_a_made_configuration_is_checked_like_a_written_one(store: Any, names: Any, says: str) -> None:
    with pytest.raises(errors.ConfigurationInvalid) as refused:
        FACTORY.configured(Configuration(store, "deepseek", 2, 1.5, names))
    assert refused.value.detail == says


def test_another_kind_of_configuration_is_refused() -> None:
    given: Any = chat_completions.Configuration()
    with pytest.raises(errors.ConfigurationInvalid, match="CONFIGURATION_INVALID"):
        FACTORY.configured(given)


def test_a_kind_that_can_be_changed_is_no_configuration() -> None:
    with pytest.raises(errors.ConfigurationInvalid) as refused:
        Factory(key="made", configuration=Changeable, create=lambda given: shells.Shell("made")).configured(
            Changeable()
        )
    assert refused.value.detail == "made: Changeable can be changed"


def test_a_type_that_no_configuration_has_is_refused() -> None:
    @dataclass(frozen=True)
    class Running:
        provider: Callable[[], None]

    with pytest.raises(errors.ConfigurationInvalid) as refused:
        Factory(key="made", configuration=Running, create=lambda given: shells.Shell("made")).configured(
            Running(lambda: None)
        )
    assert refused.value.detail == "made: provider is of a type that a configuration cannot have"


# Those of ours.


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"idle_seconds": 300.0}, "connect_seconds is missing"),
        ({"idle_seconds": 300.0, "connect_seconds": 5.0, "proxy": ""}, "proxy is not known"),
        ({"idle_seconds": "300", "connect_seconds": 5.0}, "idle_seconds must be of type float"),
        ({"idle_seconds": 0.0, "connect_seconds": 5.0}, "idle_seconds must be more than nothing"),
    ],
)
def test_the_limits_of_chats_are_exact(given: dict[str, object], named: str) -> None:
    with pytest.raises(errors.ConfigurationInvalid) as refused:
        chat_completions.FACTORY.configured(given)
    assert refused.value.detail == f"chat-completions: {named}"


@pytest.mark.parametrize("key", [shells.COPILOT, shells.CODEX])
def test_a_shell_is_configured_with_nothing_and_refuses_before_any_effect(key: str) -> None:
    with pytest.raises(errors.ConfigurationInvalid):
        shells.factory(key).configured({"token": "x"})
    shell = Registry([shells.factory(key).configured({})]).get(key)
    request: Any = None
    with pytest.raises(errors.ProviderNotImplemented):
        shell.open(request)
    with pytest.raises(errors.ProviderNotImplemented):
        shell.restore(request)
