"""Put the parts together, once for a process: the journal, the providers, the tools and the engine that uses them."""

import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from django.conf import settings

from lifecycle_core.access import capabilities, credentials
from lifecycle_core.application import agents, signals
from lifecycle_core.contract import errors, stages
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.invocation import AccessRule
from lifecycle_core.contract.plugins import Plugin
from lifecycle_core.contract.ports import (
    CredentialLease,
    Provider,
    Tool,
    ToolContext,
)
from lifecycle_core.engine import result_schema
from lifecycle_core.engine.chain import Roster
from lifecycle_core.engine.health import Health
from lifecycle_core.engine.services import Services
from lifecycle_core.journal import blobs, store
from lifecycle_core.plugins.ask_gate import AskGate
from lifecycle_core.providers import chat_completions, shells
from lifecycle_core.providers.dsh import provider as dsh
from lifecycle_core.providers.dsh import release
from lifecycle_core.providers.dsh import storage as dsh_storage
from lifecycle_core.providers.registry import Registry
from lifecycle_core.tools import catalogue
from lifecycle_core.tools.workflow import Workflow

SHELLS: Final = frozenset({shells.COPILOT, shells.CODEX})


class SystemClock:
    """Tell the time of this machine."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Return milliseconds that only grow, for durations within this process."""
        return time.monotonic_ns() // 1_000_000


@cache
def clock() -> SystemClock:
    """Return the clock of the process."""
    return SystemClock()


@cache
def journal() -> store.Store:
    """Return the journal; it tells of every commit by `signals.journal_advanced`."""
    return store.Store(hint=_hint, limits=blobs.Limits(value=settings.LIFECYCLE_VALUE_BYTES))


def _hint(tenant: str, position: int) -> None:
    signals.journal_advanced.send(sender=None, tenant=tenant, position=position)


@cache
def providers() -> Registry:
    """Return the providers of this console by key."""
    return Registry(
        [
            chat_completions.FACTORY.configured(chat_completions.Configuration()),
            dsh.FACTORY.configured(_dsh()),
            *(shells.factory(key).configured(shells.Nothing()) for key in sorted(SHELLS)),
        ]
    )


def _dsh() -> dsh.Configuration:
    return dsh.Configuration(
        storage=settings.LIFECYCLE_DSH_STORAGE,
        grace_ms=settings.LIFECYCLE_DSH_GRACE_SECONDS * 1000,
        start_seconds=float(settings.LIFECYCLE_DSH_START_SECONDS),
    )


@cache
def native_sessions() -> dsh_storage.Storage:
    """Return where the sessions lie that are kept outside of the journal, also those of a provider that cannot run now."""
    return dsh_storage.Storage(settings.LIFECYCLE_DSH_STORAGE)


def implemented(key: str) -> bool:
    """Tell whether a provider can run anything here; the others refuse before any effect."""
    return key in providers().keys and key not in SHELLS and (key != dsh.KEY or release.is_installed())


@cache
def _built_in() -> Roster:
    """Return the plugins that every agent runs under."""
    gate = AskGate()
    return Roster([Plugin(name=gate.name, stage=stages.TOOL_ADMIT, kind="gate", act=gate.judge)])


@cache
def services() -> Services:
    """Return what the engine works with."""
    return Services(
        journal=journal(),
        clock=clock(),
        agent=agents.version,
        has_provider=implemented,
        provider=_provider,
        lease=_lease,
        known_secret=_known_secret,
        tools=_tools,
        workspaces=capabilities.Authority(
            lambda: settings.LIFECYCLE_KEYS, lambda: settings.LIFECYCLE_WORKSPACES
        ),
        context=_context,
        workflow=Workflow(result_schema.check_form),
        roster=lambda agent: _built_in(),
        health=Health(),
        value_bytes=settings.LIFECYCLE_VALUE_BYTES,
    )


def _provider(key: str) -> Provider:
    if not implemented(key):
        raise errors.ProviderNotImplemented
    return providers().get(key)


def _lease(tenant: str, agent: AgentDefinition) -> CredentialLease:
    return credentials.lease(tenant, agent.credential, agent.base_url)


def _known_secret(tenant: str, agent: AgentDefinition) -> CredentialLease | None:
    return credentials.known(tenant, agent.credential)


def _tools(agent: AgentDefinition) -> Mapping[str, Tool]:
    families = [catalogue.by_family(family) for family in agent.tools]
    return {tool.spec.name: tool for family in families for tool in family}


def _context(
    workspace: str, access: tuple[AccessRule, ...], call: str, interrupted: Callable[[], bool]
) -> ToolContext:
    folder = settings.LIFECYCLE_WORKSPACES.get(workspace)
    return ToolContext(
        call=call,
        root=Path(folder) if folder else None,
        access=access,
        origins=frozenset(settings.LIFECYCLE_HTTP_ORIGINS),
        interrupted=interrupted,
    )
