"""The seams: what the engine needs from the rest, and what it gives to a provider.

The engine has no clock, database or network of its own; all of that comes through these protocols.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol
from uuid import UUID

from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.events import Event, Outcome
from lifecycle_core.contract.identities import DeliveryRef
from lifecycle_core.contract.invocation import AccessRule, Dispatch, WorkspaceCapability
from lifecycle_core.contract.status import Status

# ---------------------------------------------------------------------------------------------------------------- tools


class EffectClass(StrEnum):
    """Say what a crash in the middle of a call means."""

    READ_ONLY = "read_only"
    IDEMPOTENT = "idempotent"
    RECONCILABLE = "reconcilable"
    UNSAFE = "unsafe"


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """Describe a tool to the model and to people. `schema_digest` is the digest of `input_schema`."""

    name: str
    family: str
    description: str
    input_schema: dict[str, Json]
    effect_class: EffectClass
    schema_digest: str


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """Tell a tool where it may act. `call` is stable over restarts: use it as the far side's idempotency key.

    `interrupted` turns true when the invocation was cancelled or its lease is lost; a tool that takes long asks it.
    """

    call: str
    root: Path | None = None
    access: tuple[AccessRule, ...] = ()
    origins: frozenset[str] = frozenset()
    interrupted: Callable[[], bool] = lambda: False


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """State what a call would change, found out before anybody is asked.

    `binding` becomes part of the approval's digest and is checked again at execution, for instance
    `{"path", "base": "sha256:…" | "absent", "target": "sha256:…"}`; `preview` is shown to people, for instance
    `{"kind": "diff", "path", "diff"}`.
    """

    binding: dict[str, Json] = field(default_factory=dict)
    preview: dict[str, Json] | None = None


class ToolError(Exception):
    """Tell the agent that its call did not work; the run goes on. `code` is stable, `detail` is for the agent."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class BindingChanged(Exception):
    """What the call would change is no longer what was approved; nothing was done."""


class OutcomeUnknown(Exception):
    """The call was sent and nobody can say whether it happened, such as a connection lost after the request was out."""


class Tool(Protocol):
    """Be something that an agent may call. Implementations hold no state of a call."""

    @property
    def spec(self) -> ToolSpec: ...

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        """Find out what the call would change. Raises `ToolError` when it can never work."""

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        """Act and return the result. Raises `ToolError`, `BindingChanged` or `OutcomeUnknown`."""

    def reconcile(
        self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext
    ) -> Literal["done", "not_done", "unknown"]:
        """Say whether a call that was interrupted happened; asked only of reconcilable tools."""

    def result_of(self, arguments: dict[str, Json], preparation: Preparation) -> Json:
        """Return the result of a call that reconciliation found done; asked only of reconcilable tools."""


# ---------------------------------------------------------------------------------------------- providers and the turn


@dataclass(frozen=True, kw_only=True)
class Output:
    """The agent said something."""

    content: str


@dataclass(frozen=True, kw_only=True)
class InputAsked:
    """The agent asks people; `call_id` is the call that the answer belongs to."""

    call_id: str
    request_identity: str
    prompt: str
    response_schema: Json


@dataclass(frozen=True, kw_only=True)
class StructuredCompletion:
    result: Json


@dataclass(frozen=True, kw_only=True)
class ProviderFailed:
    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class ProviderUncertain:
    phase: Literal["startup", "result"]
    detail: str


@dataclass(frozen=True, kw_only=True)
class ProcessExited:
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class TurnEnded:
    """The native turn is over; by itself this is never a completion."""


@dataclass(frozen=True, kw_only=True)
class SessionDisposed:
    """The native session is gone; by itself this is never a completion."""


type NativeEvent = (
    Output
    | InputAsked
    | StructuredCompletion
    | ProviderFailed
    | ProviderUncertain
    | ProcessExited
    | TurnEnded
    | SessionDisposed
)


@dataclass(frozen=True, kw_only=True)
class ProposedCall:
    """A tool call as the model proposed it. `arguments` is `None` with `problem` set where the text was no JSON object."""

    call_id: str
    tool: str
    arguments: dict[str, Json] | None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """What a model call gave. `usage` has the keys input, output and cached, in tokens."""

    text: str
    reasoning: str
    calls: tuple[ProposedCall, ...]
    finish: Literal["stop", "tool-calls", "max-tokens"]
    usage: Mapping[str, int]


class ModelCallFailed(Exception):
    """A model call gave nothing that can be used. `code` is one of reference seed-contracts 16, such as STREAM_CLOSED.

    `retryable` tells that nothing of an answer was received and that the failure itself says that asking again may work.
    """

    def __init__(
        self, code: str, detail: str, *, retry_after_ms: int | None = None, retryable: bool = False
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.retry_after_ms = retry_after_ms
        self.retryable = retryable


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """The one result of a call, as the agent is told it. `content` is text; `ok` is false for errors and refusals."""

    call_id: str
    outcome: Outcome
    content: str
    ok: bool


@dataclass(frozen=True, kw_only=True)
class Begin:
    """Start the first turn of an episode; `input` is the action's. The system text came with the session's request."""

    purpose: str
    input: Json


@dataclass(frozen=True, kw_only=True)
class Resume:
    """Go on with a restored session. `results` are all results of the last model turn's calls, in the order of the calls;

    a session that holds some of them already takes only the others. Empty when the last model turn made no call or was
    interrupted before it answered.
    """

    results: tuple[ToolResult, ...] = ()


type TurnInput = Begin | Resume


class TurnSuspended(Exception):
    """Leave the native turn: a call waits for people. Providers let it pass; they may clean up on the way."""


class TurnInterrupted(Exception):
    """Leave the native turn: it was cancelled, its lease is lost or it has ended. Providers let it pass."""


class Conversation(Protocol):
    """What a model is told, shown to plugins before it is."""

    def shown(self) -> list[dict[str, Json]]:
        """Return the messages that the next `perform` sends, in order."""

    def put(self, messages: Sequence[Mapping[str, Json]]) -> None:
        """Send other messages with the next `perform` alone; what the session keeps stays as it is."""


class Carrier(Protocol):
    """Be the only way of a provider to a model, a tool and the journal."""

    def call_model(
        self,
        perform: Callable[[Callable[[str], None]], ModelAnswer],
        conversation: "Conversation | None" = None,
    ) -> ModelAnswer:
        """Run one model call. `perform(emit)` does it and gives streamed text to `emit`. Raises what `perform` raises.

        A session that takes changes of what the model is told and of what it answered hands its `conversation` over; from one
        that does not, plugins that would change anything are refused.
        """

    def call_tools(self, calls: Sequence[ProposedCall], *, grace_ms: int = 0) -> list[ToolResult]:
        """Run the calls of one model turn and return one result each, in order. Raises `TurnSuspended` when any waits for

        people and `TurnInterrupted` when the turn must stop; a turn that has completed stops at its next model call. A session
        that is costly to restore may give people `grace_ms` to answer before the turn is suspended."""

    def emit(self, event: NativeEvent) -> None:
        """Report something that happened in the native session."""

    def keep(self, message: bytes) -> None:
        """Append one message to the native session; it is stored with the next commit, in order."""

    def holds_secret(self, value: Json) -> bool:
        """Tell whether a value carries a leased secret, for a session that is kept where the journal cannot clean it."""


@dataclass(frozen=True, kw_only=True)
class ModelRoute:
    """Say where model calls go; the whole of an agent's admitted configuration for its provider."""

    model: str
    base_url: str
    configuration: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class SessionRequest:
    """Be what a session is opened or restored from. `messages` are the kept bytes of a restored session, in order.

    `affinity` is the identity that the session is bound to, which only says something together with its `tenant`;
    `instructions` is the admitted system text. `on_interrupt(stop)` names what ends a wait while the session is opened or
    restored: `stop` is called from another thread, or at once where the turn must stop already. What it ends may raise
    whatever it likes; what holds the session by then is given back by whoever opens it, as after any other fault.
    """

    tenant: str = ""
    affinity: str
    opaque_identity: str
    route: ModelRoute
    instructions: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[bytes, ...] = ()
    on_interrupt: Callable[[Callable[[], None]], None] = field(
        default=lambda stop: None, compare=False, repr=False
    )


class WorkflowTools(Protocol):
    """Be the tools by which an agent speaks to the engine instead of acting: completion and input request."""

    def specs(self, result_schema: Json, *, interaction: bool) -> tuple[ToolSpec, ...]:
        """Return what the model is offered; the input request only with the interaction capability."""

    def signal(
        self, call_id: str, tool: str, arguments: dict[str, Json]
    ) -> StructuredCompletion | InputAsked:
        """Turn a call into what it says. Raises `ToolError` for arguments that say nothing."""


class Workspaces(Protocol):
    """Give episodes the right to use registered workspaces, and know such a right again."""

    def seal(self, tenant: str, capability: WorkspaceCapability) -> WorkspaceCapability:
        """Return the capability with a seal over all of it. Raises `errors.ConfigurationInvalid` for a workspace that is not

        registered."""

    def is_sealed(self, tenant: str, capability: WorkspaceCapability) -> bool:
        """Tell whether a capability was sealed for this tenant as it is, for a workspace that is still registered."""


class NativeSession(Protocol):
    """Be one conversation of a provider."""

    @property
    def opaque_identity(self) -> str: ...

    def run(self, turn: TurnInput, carrier: Carrier, material: Mapping[str, str]) -> None:
        """Run one native turn to its end. `material` is the leased credential, name to secret, valid until this returns."""

    def cancel(self) -> None:
        """Interrupt a blocked `run` from another thread, at once."""

    def dispose(self) -> None:
        """Give everything back; idempotent."""


class Provider(Protocol):
    """Open or exactly restore native sessions."""

    @property
    def key(self) -> str: ...

    def open(self, request: SessionRequest) -> NativeSession:
        """Open a fresh session. Raises `errors.ProviderNotImplemented` before any effect where it cannot."""

    def restore(self, request: SessionRequest) -> NativeSession:
        """Restore exactly the session that `request.opaque_identity` names; never a fresh one. Raises `LookupError`."""

    def dispose(self) -> None:
        """Close what the provider keeps open; idempotent."""


class CredentialLease(Protocol):
    """A turn's right to a credential."""

    @property
    def material(self) -> Mapping[str, str]: ...

    def release(self) -> None:
        """Zero the material; harmless when repeated."""


# -------------------------------------------------------------------------------------------------------------- journal


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Take the lease in the same transaction. It is refused with `errors.LeaseLost` unless the token is still `seen_token`

    and the lease is free or expired; the new token is `seen_token + 1`."""

    worker: str
    ttl_ms: int
    seen_token: int


@dataclass(frozen=True, kw_only=True)
class SessionMessages:
    """Messages to append to a native session; `start` is the index of the first and must be the session's length."""

    affinity: str
    start: int
    bodies: tuple[bytes, ...]


@dataclass(frozen=True, kw_only=True)
class Command:
    """Make a command idempotent: the same key and body get the stored answer, another body is refused with `KeyReused`."""

    key: str
    body_digest: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """One transition, one transaction.

    `transitions` maps every status from which the change is allowed to the status that follows (the engine's table says
    so; the journal does not know it). From any other status the change is refused with `errors.StatusConflict`, and so it
    is when the invocation is no longer at `version`, where one is given. `token` is the fencing token that must still be
    the lease's (`errors.LeaseLost`); `release` gives the lease up. Events are stored in order and their projections
    (requests, calls, counters, sessions) follow in the same transaction; a projection that no longer fits, such as deciding
    a decided approval, refuses the whole change.
    """

    invocation: UUID
    actor: str
    at_ms: int
    transitions: Mapping[Status, Status]
    events: tuple[Event, ...]
    token: int | None = None
    claim: Claim | None = None
    release: bool = False
    messages: SessionMessages | None = None
    version: int | None = None


@dataclass(frozen=True, kw_only=True)
class Appended:
    """What an append made: the status now, the version (= the last seq), the feed position of the last event, the token."""

    status: Status
    version: int
    position: int
    token: int


@dataclass(frozen=True, kw_only=True)
class NewInvocation:
    """Everything that the first transaction of an invocation stores beside its `InvocationAdmitted` event."""

    id: UUID
    tenant: str
    delivery: DeliveryRef
    dispatch: Dispatch
    agent: str
    agent_binding: str
    action: str
    provider: str
    model: str
    attempt: int
    requester: str
    context: Json = None
    parent: UUID | None = None


type CallState = Literal["requested", "waiting", "approved", "intended", "settled"]


@dataclass(frozen=True, kw_only=True)
class CallRecord:
    """Where one tool call stands. `arguments` are those that would run (an edit replaces them)."""

    id: str
    call_id: str
    model_turn: int
    index: int
    tool: str
    effect_class: EffectClass
    state: CallState
    arguments: Json
    proposed: Json
    attempts: int
    approval: str | None
    edited: bool
    bound: Mapping[str, Json]
    effective_digest: str
    expires_at: int
    outcome: Outcome | None
    content: Json


@dataclass(frozen=True, kw_only=True)
class InvocationRecord:
    """Where one invocation stands, with all that a worker needs to go on."""

    id: UUID
    tenant: str
    delivery: DeliveryRef
    dispatch: Mapping[str, Json]
    agent: str
    agent_binding: str
    action: str
    provider: str
    model: str
    attempt: int
    requester: str
    status: Status
    version: int
    token: int
    worker: str
    lease_expires_at: int
    created_at: int
    model_turns: int
    tool_calls: int
    tokens: int
    output_sequence: int
    affinity: str
    session: str
    generation: int
    open_requests: int


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one invocation stands, and who may write there; it can be read also where what it was started with cannot."""

    status: Status
    version: int
    token: int
    model_turns: int


@dataclass(frozen=True, kw_only=True)
class OpenRequest:
    """A request that nobody has answered, with the call that it belongs to."""

    kind: Literal["approval", "input"]
    id: str
    call: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """The one open input request of an invocation, with the call that it belongs to."""

    id: str
    call: str
    request_identity: str
    response_schema: Json


class Journal(Protocol):
    """Keep the facts. Every method is a short transaction, its own or a part of the one around it; reads see the latest commit.

    All raise `errors.NotFound` for an identity that is not there.
    """

    def admit(self, new: NewInvocation, event: Event, *, status: Status, at_ms: int) -> Appended:
        """Create the delivery when new, and the invocation. Raises `DeliveryConflict`, `DeliveryRetired`,
        `CorrelationMismatch` (the episode exists) and `SessionAffinityMismatch`."""

    def append(self, change: Change) -> Appended: ...

    def load(self, invocation: UUID) -> InvocationRecord: ...

    def place(self, invocation: UUID) -> Place: ...

    def calls(self, invocation: UUID, model_turn: int) -> list[CallRecord]: ...

    def open_requests(self, invocation: UUID) -> list[OpenRequest]:
        """Return the requests of an invocation that nobody has answered, oldest first."""

    def question(self, invocation: UUID) -> Question | None:
        """Return what an invocation asks people, if it asks."""

    def affinity(self, tenant: str, affinity: str) -> tuple[str, int] | None:
        """Return the opaque identity and generation bound to an affinity, or nothing."""

    def messages(self, tenant: str, affinity: str) -> tuple[bytes, ...]: ...

    def renew(self, invocation: UUID, token: int, ttl_ms: int, now_ms: int) -> bool:
        """Prolong a lease; false when it is lost or was given up."""

    def release(self, invocation: UUID, token: int) -> None:
        """Give up the lease of an invocation that was ended from outside, and with it its session, for whoever waits for it.

        Nothing happens where it has not ended, or the lease is another's."""

    def retire(
        self,
        tenant: str,
        delivery: UUID,
        *,
        authorization: str,
        by: str,
        at_ms: int,
        manifest_binding: str | None = None,
        activation_binding: str | None = None,
    ) -> UUID:
        """Delete a delivery with all that belongs to it and return its tombstone's identity; repeatable with the same

        authorization. Raises `RetirementNotAuthorized` and `DeliveryBusy`."""


class Clock(Protocol):
    """Tell the time: `now_ms` for people and expiry, `monotonic_ms` for durations and lease arithmetic of one process."""

    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> int: ...
