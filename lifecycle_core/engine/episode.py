"""One worker's view of one invocation while it drives it."""

import logging
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from lifecycle_core.contract import digests
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.invocation import INTERACTION
from lifecycle_core.contract.ports import (
    EffectClass,
    InvocationRecord,
    Preparation,
    Tool,
    ToolContext,
    ToolError,
    ToolSpec,
)
from lifecycle_core.contract.subjects import Identity, Trusted
from lifecycle_core.engine.chain import Chain
from lifecycle_core.engine.granting import grant
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.engine.ledger import Ledger
from lifecycle_core.engine.redaction import Redactor, Stream
from lifecycle_core.engine.services import Services

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PlannedCall:
    """A tool call that may run: everything that intent, dispatch and outcome need."""

    call: str
    call_id: str
    tool: str
    effect_class: EffectClass
    arguments: dict[str, Json]
    preparation: Preparation = field(default_factory=Preparation)
    approval: str | None = None
    attempt: int = 1
    edited: bool = False

    @cached_property
    def arguments_digest(self) -> str:
        return digests.digest(self.arguments)


@dataclass(kw_only=True)
class Episode:
    """Hold what a worker knows of the invocation that it drives. `model_turn` and the counters move with the turn."""

    services: Services
    record: InvocationRecord
    agent: AgentDefinition
    tools: Mapping[str, Tool]
    ledger: Ledger
    interruption: Interruption
    model_turn: int
    tool_calls: int
    tokens: int
    output_sequence: int
    session: str
    step: int = 0
    redactor: Redactor = field(default_factory=lambda: Redactor(()))

    @classmethod
    def of(cls, services: Services, record: InvocationRecord, interruption: Interruption) -> "Episode":
        """Look at an invocation as it is stored now."""
        agent = services.agent(record.tenant, record.agent, record.agent_binding)
        return cls(
            services=services,
            record=record,
            agent=agent,
            tools=services.tools(agent),
            ledger=Ledger(services.journal, services.clock, record),
            interruption=interruption,
            model_turn=record.model_turns,
            tool_calls=record.tool_calls,
            tokens=record.tokens,
            output_sequence=record.output_sequence,
            session=record.session,
        )

    @property
    def result_schema(self) -> Json:
        return self.agent.actions[self.record.action].result_schema

    @property
    def interaction(self) -> bool:
        return INTERACTION in self.agent.capabilities

    def offered(self) -> tuple[ToolSpec, ...]:
        """Return the tools that the model is offered, the workflow tools first."""
        workflow = self.services.workflow.specs(self.result_schema, interaction=self.interaction)
        return (*workflow, *(tool.spec for tool in self.tools.values()))

    @cached_property
    def workflow(self) -> dict[str, ToolSpec]:
        """Return the workflow tools by name, those included that this agent is not offered."""
        specs = self.services.workflow.specs(self.result_schema, interaction=True)
        return {spec.name: spec for spec in specs}

    def protect(self, secrets: Iterable[str]) -> None:
        """Keep leased secrets out of everything that is noted from now on."""
        self.redactor = Redactor(secrets)
        self.ledger.redact = self.redactor.redact
        self.ledger.redact_message = self.redactor.message

    def stream(self) -> Stream:
        """Return what keeps leased secrets out of streamed text, also where one is split over chunks."""
        return self.redactor.stream()

    def holds_secret(self, value: Json) -> bool:
        """Tell whether a value contains a leased secret."""
        return self.redactor.contains_secret(value)

    def log_fault(self, what: str) -> None:
        """Log the exception that is being handled, with its traceback, without any leased secret."""
        log.error("%s\n%s", what, self.redactor.text(traceback.format_exc()))

    def without_secrets(self, arguments: dict[str, Json]) -> dict[str, Json]:
        """Return arguments of which even the digest tells nothing of a leased secret."""
        kept = self.redactor.redact(arguments)
        return kept if isinstance(kept, dict) else {}

    def context(self, call: str) -> ToolContext:
        """Say where a call of this invocation may act. Raises `ToolError` where its workspace is not granted (any more)."""
        granted = grant(self.services.workspaces, self.record)
        return self.services.context(granted.workspace, granted.access, call, self.interruption)

    def prepare(self, call: PlannedCall) -> PlannedCall:
        """Find out what a call would change now. Raises `ToolError`, also where the tool itself is at fault."""
        try:
            preparation = self.tools[call.tool].prepare(call.arguments, self.context(call.call))
        except ToolError:
            raise
        except Exception as fault:
            # Nothing was done yet, so a tool that is out of order costs its own call and not the run.
            self.log_fault(f"tool {call.tool} could not prepare a call")
            raise ToolError("TOOL_FAULT", type(fault).__name__) from fault
        return replace(call, preparation=preparation)

    @cached_property
    def trusted(self) -> Trusted:
        """Return for whom this runs and within what limits, as plugins see it and cannot change it."""
        return Trusted.of(self.record.tenant, self.record.requester, self.agent)

    @property
    def identity(self) -> Identity:
        """Return what plugins may know this episode by."""
        return Identity(
            invocation=str(self.record.id),
            attempt=str(self.record.attempt),
            step=self.step or None,
            model_turn=self.model_turn or None,
        )

    @cached_property
    def chain(self) -> Chain:
        """Return what runs the plugins of this agent, here."""
        return Chain(
            self.services.roster(self.agent),
            health=self.services.health,
            note=self.ledger.note,
            now_ms=self.services.clock.monotonic_ms,
        )


def call_identity(record: InvocationRecord, model_turn: int, call_id: str) -> str:
    """Return our identity of a call, which is the same whenever the same call is met again."""
    parts = [str(record.id), record.attempt, model_turn, call_id]
    return "call-" + digests.short(digests.digest(parts))
