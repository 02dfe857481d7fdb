"""What plugins see of a stage: frozen snapshots, which a transformer replaces with a changed copy.

Every snapshot carries the identity of what happens and the trusted context it happens in; neither can be changed. Maps and
lists in it are read-only at every depth; `contract.frozen.draft` makes a copy to change. Reference: seed-contracts 23.2.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from lifecycle_core.contract import stages
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import EffectClass


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Name what happens; the parts below the invocation are there where a stage has them."""

    invocation: str
    attempt: str
    step: int | None = None
    model_turn: int | None = None
    tool_call: str | None = None
    delegation: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What an invocation may use in all; seconds count for one worker's turn."""

    model_turns: int
    tool_calls: int
    tokens: int
    seconds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Trusted:
    """For whom something happens, and within what limits. `principal` is whoever asked for the invocation."""

    tenant: str
    principal: str
    agent: str
    budget: Budget

    @classmethod
    def of(cls, tenant: str, principal: str, agent: AgentDefinition) -> Self:
        """Return the context of what an agent does for somebody."""
        limits = agent.limits
        budget = Budget(
            model_turns=limits.model_turns,
            tool_calls=limits.tool_calls,
            tokens=limits.tokens,
            seconds=limits.seconds,
        )
        return cls(tenant=tenant, principal=principal, agent=agent.name, budget=budget)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Be the base of what a stage is about."""

    identity: Identity
    trusted: Trusted

    def changed(self, **fields: Any) -> Self:
        """Return a copy with other contents. The guard refuses what the stage does not let a plugin change."""
        return dataclasses.replace(self, **fields)


@dataclass(frozen=True, kw_only=True)
class Admission(Subject):
    """An invocation that somebody wants to start."""

    action: str
    input: Json


@dataclass(frozen=True, kw_only=True)
class ToolCall(Subject):
    """A call of a tool, as it is admitted and as it is carried."""

    tool: str
    family: str
    effect_class: EffectClass
    arguments: Mapping[str, Json]

    @property
    def tenant(self) -> str:
        return self.trusted.tenant

    @property
    def agent(self) -> str:
        return self.trusted.agent

    def answered(self, content: Json, *, ok: bool = True) -> "ToolOutcome":
        """Return an outcome for this call that no tool gave; an interceptor that returns one keeps the call from running."""
        return ToolOutcome(
            identity=self.identity,
            trusted=self.trusted,
            tool=self.tool,
            arguments=self.arguments,
            ok=ok,
            content=content,
        )


@dataclass(frozen=True, kw_only=True)
class ToolOutcome(Subject):
    """What became of a call; `content` is what the agent will be told, `by` names the plugin whose outcome it is, if one's."""

    tool: str
    arguments: Mapping[str, Json]
    ok: bool
    content: Json
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelCall(Subject):
    """A model that is about to be asked. `messages` are what it will be told; empty where an engine does not show them."""

    model: str
    messages: Sequence[Mapping[str, Json]]

    def answered(self, text: str) -> "ModelOutcome":
        """Return an answer that no model gave; an interceptor that returns one keeps the model from being asked."""
        return ModelOutcome(identity=self.identity, trusted=self.trusted, model=self.model, text=text)


@dataclass(frozen=True, kw_only=True)
class ModelOutcome(Subject):
    """What a model answered: its text, the names of the tools that it calls, the tokens that it took.

    `by` names the plugin whose answer it is, if one's; such an answer makes no calls.
    """

    model: str
    text: str
    calls: tuple[str, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Chunk(Subject):
    """A piece of text as the model says it. Without text it is dropped."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Passing(Subject):
    """Something that has an identity and no content of its own: an attempt, a step, a suspension, an end.

    `resumed` tells that an attempt goes on in a session that was there before.
    """

    resumed: bool = False


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What an observer is shown: a stage begins or is over, and what came of it.

    `outcome` is what the stage gave, where it gave anything; `ended` says how it was left: "done", or the reason why not.
    """

    stage: str
    when: stages.When
    subject: Subject
    outcome: Any = None
    ended: str = "done"
