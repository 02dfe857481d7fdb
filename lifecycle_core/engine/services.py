"""What the engine is given to work with, and the times that it keeps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.invocation import AccessRule
from lifecycle_core.contract.ports import (
    Clock,
    CredentialLease,
    Journal,
    Provider,
    Tool,
    ToolContext,
    WorkflowTools,
    Workspaces,
)
from lifecycle_core.engine.chain import Roster
from lifecycle_core.engine.health import Health


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Durations in milliseconds. A worker renews its lease well before `lease_ms` are over.

    `model_pauses_ms` are those before a model that refused is asked again, one for each time; `model_patience_ms` is how long
    it may ask us to wait.
    """

    lease_ms: int = 15_000
    approval_ms: int = 24 * 3600 * 1000
    input_ms: int = 24 * 3600 * 1000
    output_interval_ms: int = 250
    model_pauses_ms: tuple[int, ...] = (1_000, 4_000)
    model_patience_ms: int = 60_000


def _nothing_known(tenant: str, agent: AgentDefinition) -> None:
    """Know no secret but those that are leased."""


@dataclass(frozen=True, kw_only=True)
class Services:
    """The ports of the engine.

    `agent` returns a registered version by tenant, name and binding; `has_provider`
    tells whether a provider can run anything here, without making it; `provider` raises `errors.ProviderNotImplemented` and
    `lease` raises `errors.CredentialAcquisitionFailed`; `tools` resolves an agent's tool families to tools by name, `roster`
    gives the plugins that it runs under, and `health` remembers which of them fail.
    `workspaces` knows the capabilities that were sealed here; `context` makes a workspace's name (empty for none), its rules
    and a call's identity into where that call may act. `value_bytes` is how large a value the journal keeps, as canonical
    JSON. `known_secret` gives an agent's secret wherever it may be sent, or nothing; it only serves to keep it out of what is
    noted.
    """

    journal: Journal
    clock: Clock
    agent: Callable[[str, str, str], AgentDefinition]
    has_provider: Callable[[str], bool]
    provider: Callable[[str], Provider]
    lease: Callable[[str, AgentDefinition], CredentialLease]
    tools: Callable[[AgentDefinition], Mapping[str, Tool]]
    workspaces: Workspaces
    context: Callable[[str, tuple[AccessRule, ...], str, Callable[[], bool]], ToolContext]
    workflow: WorkflowTools
    roster: Callable[[AgentDefinition], Roster]
    health: Health
    timing: Timing = field(default_factory=Timing)
    value_bytes: int = 4 * 1024 * 1024
    known_secret: Callable[[str, AgentDefinition], CredentialLease | None] = _nothing_known
