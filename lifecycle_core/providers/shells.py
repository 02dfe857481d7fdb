"""Providers that are known by name and cannot run anything here; never a fallback for another."""

from dataclasses import dataclass
from typing import Final, NoReturn

from lifecycle_core.contract import errors, ports
from lifecycle_core.providers.registry import Factory

COPILOT: Final = "copilot-sdk"
CODEX: Final = "codex-cli"


class Shell:
    """Refuse every session before any effect."""

    def __init__(self, key: str) -> None:
        self.key = key

    def open(self, request: ports.SessionRequest) -> NoReturn:
        """Raise `errors.ProviderNotImplemented`."""
        raise errors.ProviderNotImplemented

    def restore(self, request: ports.SessionRequest) -> NoReturn:
        """Raise `errors.ProviderNotImplemented`."""
        raise errors.ProviderNotImplemented

    def dispose(self) -> None:
        """Hold nothing, so give nothing back."""


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """Configure nothing: there is nothing that could run."""


def factory(key: str) -> Factory[Nothing]:
    """Return how the shell of a key is made."""
    return Factory(key=key, configuration=Nothing, create=lambda configuration: Shell(key))
