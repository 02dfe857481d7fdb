"""The facts that a journal holds: frozen, past tense, ids and plain values only.

An event is appended with the transition that it causes and never edited. `kind` is its name on the wire; the fields are its
payload. Times are integer milliseconds since the epoch and end in `_at`.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Self

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json

type Outcome = Literal[
    "executed", "edited", "failed", "refused", "denied", "expired", "cancelled", "answered"
]
type Decision = Literal["approve", "edit", "reject", "respond"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Be the base of every fact."""

    kind: ClassVar[str]

    def payload(self) -> dict[str, Json]:
        """Return the fields as a JSON object."""
        return {name: digests.thaw(value) for name, value in self.__dict__.items()}

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Self:
        """Rebuild an event from its payload; a missing or unknown field raises `TypeError`."""
        return cls(**payload)


# The invocation as a whole.


@dataclass(frozen=True, kw_only=True)
class InvocationAdmitted(Event):
    kind = "invocation.admitted"
    agent: str
    action: str
    provider: str
    model: str
    delivery: str
    input: Json
    requester: str
    dispatch_digest: str
    context: Json = None


@dataclass(frozen=True, kw_only=True)
class SessionOpened(Event):
    kind = "session.opened"
    binding: str
    affinity: str
    opaque_identity: str
    generation: int


@dataclass(frozen=True, kw_only=True)
class SessionRestored(Event):
    kind = "session.restored"
    binding: str
    affinity: str
    opaque_identity: str
    generation: int


@dataclass(frozen=True, kw_only=True)
class InvocationClaimed(Event):
    """A worker took the lease of an invocation that starts, or of one whose worker is gone (`recovered`)."""

    kind = "invocation.claimed"
    worker: str
    token: int
    recovered: bool = False


@dataclass(frozen=True, kw_only=True)
class InvocationResumed(Event):
    kind = "invocation.resumed"
    worker: str
    token: int


@dataclass(frozen=True, kw_only=True)
class TurnSuspended(Event):
    """The turn waits for people; `open` lists the requests that nobody has answered."""

    kind = "turn.suspended"
    open: list[str]


@dataclass(frozen=True, kw_only=True)
class InvocationCompleted(Event):
    kind = "invocation.completed"
    result: Json


@dataclass(frozen=True, kw_only=True)
class InvocationFailed(Event):
    kind = "invocation.failed"
    code: str
    retry: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class InvocationInvalidated(Event):
    kind = "invocation.invalidated"
    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class InvocationBecameUnknown(Event):
    """Nobody can say how it ended; `open_intents` names the calls that may or may not have happened."""

    kind = "invocation.became-unknown"
    owner: str
    reason: str
    detail: str
    open_intents: list[str] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class InvocationCancelled(Event):
    kind = "invocation.cancelled"
    reason: str
    by: str
    comment: str = ""


@dataclass(frozen=True, kw_only=True)
class CallResolved(Event):
    """A person found out what became of a call that nobody could ask; `then` says what follows when it did not happen."""

    kind = "call.resolved"
    call: str
    tool: str
    finding: Literal["happened", "did-not-happen"]
    then: Literal["", "run", "error"]
    by: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class UnknownContinued(Event):
    kind = "unknown.continued"
    by: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class UnknownFailed(Event):
    kind = "unknown.failed"
    by: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class UnknownCancelled(Event):
    kind = "unknown.cancelled"
    by: str
    reason: str


# One model turn.


@dataclass(frozen=True, kw_only=True)
class ModelRequested(Event):
    """The model is asked; `attempt` counts how often it was for this turn."""

    kind = "model.requested"
    model_turn: int
    model: str
    attempt: int = 1


@dataclass(frozen=True, kw_only=True)
class ModelFailed(Event):
    """An attempt gave no answer. `retried` tells that the model is asked again; `retry_after_ms` is the wait it asked for."""

    kind = "model.failed"
    model_turn: int
    attempt: int
    code: str
    detail: str
    retry_after_ms: int | None
    retried: bool


@dataclass(frozen=True, kw_only=True)
class ModelResponded(Event):
    """The model answered; `usage` counts tokens as input, output, cached; `took_ms` is measured by a monotonic clock.

    `by` names the plugin that answered in the place of the model.
    """

    kind = "model.responded"
    model_turn: int
    text: str
    reasoning: str
    calls: list[dict[str, Json]]
    finish: str
    usage: dict[str, int]
    took_ms: int
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class OutputProduced(Event):
    kind = "output.produced"
    model_turn: int
    sequence: int
    content: str


# One tool call. `call` is our identity of it, `call_id` the one that the model gave.


@dataclass(frozen=True, kw_only=True)
class ToolRequested(Event):
    """The model asked for a call and the gates answered: `verdict` is allow, ask or refuse, `rule` says which gate and why.

    `proposed` holds the model's arguments where plugins have put others in their place.
    """

    kind = "tool.requested"
    call: str
    call_id: str
    model_turn: int
    index: int
    tool: str
    effect_class: str
    arguments: Json
    arguments_digest: str
    verdict: Literal["allow", "ask", "refuse"]
    rule: str
    proposed: Json = None


@dataclass(frozen=True, kw_only=True)
class ToolIntended(Event):
    """The call is about to reach the world; written before it does. `approval` is consumed by it.

    `preparation` binds what a call that nobody was asked about would change; of an approved one the approval says it.
    `arguments` are there where an interceptor has put others in the place of those that were admitted.
    """

    kind = "tool.intended"
    call: str
    tool: str
    arguments_digest: str
    token: int
    attempt: int
    approval: str | None = None
    preparation: dict[str, Json] | None = None
    arguments: Json = None


@dataclass(frozen=True, kw_only=True)
class ToolAttempted(Event):
    """The call reached the world and came back, and an interceptor sends it once more; this is what came of the attempt."""

    kind = "tool.attempted"
    call: str
    tool: str
    attempt: int
    ok: bool
    content: Json


@dataclass(frozen=True, kw_only=True)
class ToolCompleted(Event):
    """The one result of a call. `content` is what the agent is told; `took_ms` is 0 where nothing ran.

    `by` names the plugin that answered in the place of the tool.
    """

    kind = "tool.completed"
    call: str
    call_id: str
    tool: str
    outcome: Outcome
    content: Json
    took_ms: int = 0
    reconciled: bool = False
    by: str = ""


# Approvals.


@dataclass(frozen=True, kw_only=True)
class ApprovalRequested(Event):
    """People are asked whether exactly this call may run. `bound` is the object whose digest is `request_digest`."""

    kind = "approval.requested"
    approval: str
    call: str
    call_id: str
    tool: str
    effect_class: str
    arguments: Json
    preview: Json
    request_digest: str
    bound: dict[str, Json]
    rule: str
    risk: Literal["low", "medium", "high"]
    expires_at: int


@dataclass(frozen=True, kw_only=True)
class ApprovalDecided(Event):
    """A person answered. `arguments` are those of an edit, `result` that of a respond, `effective_digest` what may now run."""

    kind = "approval.decided"
    approval: str
    call: str
    decision: Decision
    by: str
    request_digest: str
    effective_digest: str
    reason: str = ""
    arguments: Json = None
    bound: dict[str, Json] | None = None
    preview: Json = None
    result: Json = None


@dataclass(frozen=True, kw_only=True)
class ApprovalExpired(Event):
    kind = "approval.expired"
    approval: str
    call: str


@dataclass(frozen=True, kw_only=True)
class ApprovalCancelled(Event):
    kind = "approval.cancelled"
    approval: str
    call: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ApprovalSuperseded(Event):
    """What was approved is not what would run now, so the approval is void and a new one is asked."""

    kind = "approval.superseded"
    approval: str
    call: str
    reason: str


# Input requests.


@dataclass(frozen=True, kw_only=True)
class InputRequested(Event):
    kind = "input.requested"
    input: str
    call: str
    request_identity: str
    prompt: str
    response_schema: Json
    expires_at: int


@dataclass(frozen=True, kw_only=True)
class InputAnswered(Event):
    kind = "input.answered"
    input: str
    call: str
    by: str
    response_kind: Literal["ANSWER", "ACTION_FINISH_REQUESTED"]
    request_identity: str
    content: Json
    content_identity: str
    receipt: str


@dataclass(frozen=True, kw_only=True)
class InputDeclined(Event):
    kind = "input.declined"
    input: str
    call: str
    by: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class InputExpired(Event):
    kind = "input.expired"
    input: str
    call: str


@dataclass(frozen=True, kw_only=True)
class InputCancelled(Event):
    kind = "input.cancelled"
    input: str
    call: str
    reason: str


# Plugins.


@dataclass(frozen=True, kw_only=True)
class OfPlugin(Event):
    """Be the base of what is said of a plugin: which one, what it is and where it sits."""

    extension: str
    plugin: str
    plugin_kind: str
    stage: str


@dataclass(frozen=True, kw_only=True)
class ExtensionFailed(OfPlugin):
    """A plugin failed. A gate's failure is a refusal, a transformer's or an interceptor's fails the stage."""

    kind = "extension.failed"
    detail: str


@dataclass(frozen=True, kw_only=True)
class ExtensionOverdue(OfPlugin):
    """A plugin came back, later than it should; one within the process cannot be stopped."""

    kind = "extension.overdue"
    took_ms: int


@dataclass(frozen=True, kw_only=True)
class ExtensionSuspended(OfPlugin):
    """An observer failed so often in a row that its process does not hear it any more."""

    kind = "extension.suspended"


# Facts that came too late to change anything.


@dataclass(frozen=True, kw_only=True)
class LateResult(Event):
    """A call or a completion was delivered after the invocation had ended or another worker had taken over."""

    kind = "late.result"
    what: str
    detail: Json


@dataclass(frozen=True, kw_only=True)
class LateAnswer(Event):
    kind = "late.answer"
    request: str
    by: str
    detail: Json


@dataclass(frozen=True, kw_only=True)
class LateProviderEvent(Event):
    kind = "late.provider"
    what: str
    detail: Json


# Facts of the tenant, outside any invocation.


@dataclass(frozen=True, kw_only=True)
class DeliveryRetired(Event):
    kind = "delivery.retired"
    delivery: str
    tombstone: str
    by: str


RESOLVED: Final[tuple[type[Event], ...]] = (
    ApprovalDecided,
    ApprovalExpired,
    ApprovalSuperseded,
    InputAnswered,
    InputDeclined,
    InputExpired,
)
CLOSED: Final[tuple[type[Event], ...]] = (ApprovalCancelled, InputCancelled)
ASKED: Final[tuple[type[Event], ...]] = (ApprovalRequested, InputRequested)
TURN: Final[tuple[type[Event], ...]] = (
    ModelRequested,
    ModelFailed,
    ModelResponded,
    OutputProduced,
    ToolRequested,
    ToolIntended,
    ToolAttempted,
    ToolCompleted,
)
EXTENSIONS: Final[tuple[type[Event], ...]] = (ExtensionFailed, ExtensionOverdue, ExtensionSuspended)
LATE: Final[tuple[type[Event], ...]] = (LateResult, LateAnswer, LateProviderEvent)

ALL: Final[tuple[type[Event], ...]] = (
    InvocationAdmitted,
    InvocationClaimed,
    SessionOpened,
    SessionRestored,
    InvocationResumed,
    TurnSuspended,
    InvocationCompleted,
    InvocationFailed,
    InvocationInvalidated,
    InvocationBecameUnknown,
    InvocationCancelled,
    CallResolved,
    UnknownContinued,
    UnknownFailed,
    UnknownCancelled,
    *TURN,
    *ASKED,
    *RESOLVED,
    *CLOSED,
    *EXTENSIONS,
    *LATE,
    DeliveryRetired,
)
BY_KIND: Final[Mapping[str, type[Event]]] = {event.kind: event for event in ALL}
