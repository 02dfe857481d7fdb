"""Know the providers by exact keys; nothing is discovered and nothing falls back to another."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lifecycle_core.contract import errors, ports
from lifecycle_core.providers import configuration

type Make = Callable[[], ports.Provider]


@dataclass(frozen=True, kw_only=True)
class Factory[C]:
    """Make the provider of one key from exactly one kind of frozen configuration; nobody brings a made one."""

    key: str
    configuration: type[C]
    create: Callable[[C], ports.Provider]

    def configured(self, given: C | Mapping[str, object]) -> tuple[str, Make]:
        """Return what the registry takes. Raises `errors.ConfigurationInvalid`, which names what is wrong; nothing is made."""
        try:
            checked = configuration.checked(self.configuration, given)
        except errors.ConfigurationInvalid as refusal:
            raise errors.ConfigurationInvalid(detail=f"{self.key}: {refusal.detail}") from None
        return self.key, lambda: self.create(checked)


class Registry:
    """Make each provider when it is used for the first time, once, and dispose of those that were made."""

    def __init__(self, makers: Iterable[tuple[str, Make]]) -> None:
        """Take configured factories. Raises `errors.ConfigurationInvalid` when a key comes twice."""
        self._makers: dict[str, Make] = {}
        for key, make in makers:
            if key in self._makers:
                raise errors.ConfigurationInvalid(detail=f"the provider {key} is registered twice")
            self._makers[key] = make
        self._made: dict[str, ports.Provider] = {}
        self._disposed = False
        self._lock = threading.Lock()
        self._making = {key: threading.Lock() for key in self._makers}

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._makers)

    def start(self, keys: Iterable[str]) -> None:
        """Make these providers now; when one cannot be made, dispose of all that were and raise its fault."""
        try:
            for key in keys:
                self.get(key)
        except BaseException:
            self.dispose()
            raise

    def get(self, key: str) -> ports.Provider:
        """Return the provider of exactly this key; who wants another one does not wait while it is made.

        Raises `errors.ConfigurationInvalid`.
        """
        if key not in self._makers:
            raise errors.ConfigurationInvalid(detail=f"there is no provider {key}")
        with self._making[key]:
            return self._found(key) or self._keep(key, self._make(key))

    def _found(self, key: str) -> ports.Provider | None:
        with self._lock:
            if self._disposed:
                raise errors.ConfigurationInvalid(detail="the providers are shut down")
            return self._made.get(key)

    def _keep(self, key: str, provider: ports.Provider) -> ports.Provider:
        """Keep a provider that was made; one that was made too late for the end is given back at once."""
        with self._lock:
            if not self._disposed:
                self._made[key] = provider
                return provider
        _dispose(provider)
        raise errors.ConfigurationInvalid(detail="the providers are shut down")

    def dispose(self) -> None:
        """Dispose of every provider that was made, the last one first; idempotent. None keeps the others."""
        with self._lock:
            made = list(reversed(self._made.values()))
            self._made.clear()
            self._disposed = True
        failures = [failure for provider in made if (failure := _dispose(provider)) is not None]
        if failures:
            raise ExceptionGroup("providers could not be disposed of", failures)

    def _make(self, key: str) -> ports.Provider:
        provider = self._makers[key]()
        if provider.key != key:
            _dispose(provider)
            raise errors.ConfigurationInvalid(detail=f"the provider {provider.key} is registered as {key}")
        return provider


def _dispose(provider: ports.Provider) -> Exception | None:
    try:
        provider.dispose()
    except Exception as failure:  # noqa: BLE001  (the caller raises it once every other provider is disposed of)
        return failure
    return None
