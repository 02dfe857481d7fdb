"""What an agent is: the registered definition that dispatches are composed from (DESIGN 14, agents.toml)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.identities import Isolation
from lifecycle_core.contract.invocation import AccessRule


@dataclass(frozen=True, kw_only=True)
class ActionDefinition:
    """One thing that an agent can be asked to do."""

    name: str
    purpose: str
    input_schema: Json
    result_schema: Json


@dataclass(frozen=True, kw_only=True)
class SessionPolicy:
    """Say which invocations share a session: those of one episode, or those with equal `source` in their input."""

    scope: Literal["episode", "data-bound"] = "episode"
    isolation: Isolation = "isolated"
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bound one invocation: model turns, tool calls, tokens and seconds of one worker's turn."""

    model_turns: int = 40
    tool_calls: int = 200
    tokens: int = 200_000
    seconds: int = 3600


@dataclass(frozen=True, kw_only=True)
class AgentDefinition:
    """An agent in one version; `binding` is the digest of its definition and names the version."""

    binding: str
    name: str
    provider: str
    model: str
    base_url: str
    credential: str
    instructions: str
    capabilities: tuple[str, ...]
    tools: tuple[str, ...]
    extensions: tuple[str, ...]
    workspace: str
    access: tuple[AccessRule, ...]
    session: SessionPolicy
    limits: Limits
    actions: Mapping[str, ActionDefinition]

    @classmethod
    def of(cls, source: Mapping[str, Any]) -> Self:
        """Build a definition from one validated `[[agents]]` table."""
        return cls(
            binding=digests.digest(source),
            name=source["name"],
            provider=source["provider"],
            model=source["model"],
            base_url=source.get("base_url", ""),
            credential=source.get("credential", ""),
            instructions=source.get("instructions", ""),
            capabilities=tuple(source["capabilities"]),
            tools=tuple(source.get("tools", ())),
            extensions=tuple(source.get("extensions", ())),
            workspace=source.get("workspace", ""),
            access=tuple(AccessRule(**rule) for rule in source.get("access", ())),
            session=SessionPolicy(**source.get("session", {})),
            limits=Limits(**source.get("limits", {})),
            actions={action["name"]: ActionDefinition(**action) for action in source["actions"]},
        )
