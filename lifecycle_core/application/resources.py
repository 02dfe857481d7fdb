"""The shapes in which every route, page and command sees the resources (DESIGN 13).

Times are integer milliseconds since the epoch; identities are text. What an actor may do with a resource is not here: ask
`permissions`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.display import Display

type ApprovalState = Literal[
    "pending", "approved", "edited", "rejected", "responded", "expired", "cancelled", "superseded"
]
type InputState = Literal["pending", "answered", "declined", "expired", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Page[T]:
    """One page of a list; `next` is the cursor of the following one, or nothing."""

    items: Sequence[T]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class EventItem:
    """One fact of a journal. `corrupt` tells that the stored bytes do not fit their hash; then the payload is as stored."""

    seq: int
    position: int
    kind: str
    at: int
    actor: str
    payload: Mapping[str, Json]
    hash: str
    corrupt: bool = False


@dataclass(frozen=True, kw_only=True)
class OpenRequest:
    """Name a request that nobody has answered."""

    id: str
    kind: Literal["approval", "input"]


@dataclass(frozen=True, kw_only=True)
class InvocationItem:
    id: str
    status: str
    agent: str
    action: str
    provider: str
    model: str
    delivery: str
    delivery_id: str
    attempt: int
    parent: str | None
    requester: str
    open_requests: Sequence[OpenRequest]
    disposition: Mapping[str, Json] | None
    input: Json
    model_turns: int
    tool_calls: int
    tokens: int
    version: int
    created_at: int
    updated_at: int


@dataclass(frozen=True, kw_only=True)
class DecisionItem:
    by: str
    at: int
    decision: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ApprovalItem:
    """A question whether exactly one call may run. `arguments` are those that would run now; `proposed` the agent's own.

    `request_digest` is what a decision must name. `preview` is what the tool says the call would change (a diff).
    `result` is what the call gave: `{"outcome", "content"}`, once it is settled.
    """

    id: str
    state: ApprovalState
    invocation: str
    delivery: str
    agent: str
    model: str
    requester: str
    tool: str
    effect_class: str
    call_id: str
    arguments: Json
    proposed: Json
    display: Display
    preview: Mapping[str, Json] | None
    request_digest: str
    rule: str
    risk: str
    requested_at: int
    expires_at: int
    claimed_by: str | None
    decisions: Sequence[DecisionItem]
    result: Mapping[str, Json] | None

    @property
    def is_changed(self) -> bool:
        """Tell whether something else is asked than the agent proposed, not counting what a decision made of it."""
        edited = any(decision.decision == "edit" for decision in self.decisions)
        return not edited and not digests.same(self.arguments, self.proposed)


@dataclass(frozen=True, kw_only=True)
class InputItem:
    id: str
    state: InputState
    invocation: str
    delivery: str
    agent: str
    model: str
    requester: str
    request_identity: str
    prompt: str
    display: Display
    response_schema: Json
    requested_at: int
    expires_at: int
    answered_by: str | None
    answered_at: int | None
    answer: Json
    receipt: Json = None


@dataclass(frozen=True, kw_only=True)
class DeliveryItem:
    """A delivery. `process` is the aggregate of the contract (running, terminal, stopped), shown beside the statuses."""

    id: str
    identity: str
    manifest_binding: str
    activation_binding: str
    process: Literal["running", "terminal", "stopped"]
    invocations: Sequence[InvocationItem]
    created_at: int
    requester: str


@dataclass(frozen=True, kw_only=True)
class AffinityMember:
    """An invocation of an affinity; `waits` while another one holds the session, `generation` is 0 until it had it."""

    id: str
    agent: str
    action: str
    attempt: int
    status: str
    generation: int
    waits: bool
    created_at: int


@dataclass(frozen=True, kw_only=True)
class AffinityItem:
    """A session and who shares it. Until somebody opened it, `opaque_identity` is empty and `generation` is 0.

    `holder` is the invocation that has it now, where the actor may see that one; `held` tells that there is one.
    """

    id: str
    identity: str
    delivery: str
    delivery_id: str
    provider: str
    isolation: str
    compatibility: str
    scope_value: str
    binding: str
    opaque_identity: str
    generation: int
    messages: int
    holder: str | None
    held: bool
    invocations: Sequence[AffinityMember]


@dataclass(frozen=True, kw_only=True)
class LeaseItem:
    """A worker's right to drive an invocation; `token` is its fencing token."""

    invocation: str
    agent: str
    action: str
    delivery: str
    status: str
    worker: str
    token: int
    since: int
    expires_at: int


@dataclass(frozen=True, kw_only=True)
class OpenIntent:
    """A call that was sent and of which nobody knows whether it happened. `intended_at` is when it was last sent."""

    call: str
    call_id: str
    tool: str
    effect_class: str
    arguments: Json
    attempts: int
    approval: str | None
    intended_at: int


@dataclass(frozen=True, kw_only=True)
class TombstoneItem:
    id: str
    delivery: str
    authorization: str
    fact: Mapping[str, Json]
    retired_by: str
    retired_at: int
    invocations: int
    events: int
    decisions: Mapping[str, int]
    chain_heads: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ActionItem:
    name: str
    purpose: str
    input_schema: Json
    result_schema: Json


@dataclass(frozen=True, kw_only=True)
class AgentItem:
    name: str
    binding: str
    provider: str
    model: str
    base_url: str
    credential: str
    instructions: str
    capabilities: Sequence[str]
    tools: Sequence[str]
    workspace: str
    access: Sequence[Mapping[str, str]]
    limits: Mapping[str, int]
    actions: Sequence[ActionItem]
    startable: bool
    withdrawn: bool = False


@dataclass(frozen=True, kw_only=True)
class WithdrawalItem:
    """That a version of an agent was kept from starting anything; `ended_by` brought it back."""

    by: str
    at: int
    reason: str
    ended_by: str | None
    ended_at: int | None


@dataclass(frozen=True, kw_only=True)
class VersionItem:
    """A version of an agent. `running` counts the invocations that have not ended; the last of `withdrawals` may last."""

    agent: str
    binding: str
    state: Literal["current", "replaced", "withdrawn"]
    current: bool
    registered_at: int
    running: int
    withdrawals: Sequence[WithdrawalItem]


@dataclass(frozen=True, kw_only=True)
class ToolItem:
    name: str
    family: str
    description: str
    effect_class: str
    input_schema: Json
    schema_digest: str


@dataclass(frozen=True, kw_only=True)
class ProviderItem:
    key: str
    implemented: bool


@dataclass(frozen=True, kw_only=True)
class TranscriptEntry:
    """What was said or done, in order. `kind` is a word of `reading.journal.TELLERS`.

    `refers` is the identity of a call, approval or input; `text` or `value` is the content.
    """

    seq: int
    at: int
    kind: str
    who: str
    text: str
    value: Json
    refers: str


@dataclass(frozen=True, kw_only=True)
class RowNote:
    """What a line of the timeline says beside its state.

    `attempt-failed`: an attempt at a model gave nothing (`code`); it was asked again after `wait_ms` where `retried`.
    `found`: somebody (`by`) found out what became of a call (`code`: happened, run, error), and how (`text`).
    `resolved`: somebody (`by`) said how an unknown outcome goes on, and why (`text`). `reconciled`: the call was asked later
    whether it had happened, and it had. `by-extension`: what came of it is what an extension says (`by`).
    """

    kind: Literal["attempt-failed", "found", "resolved", "reconciled", "by-extension"]
    attempt: int = 0
    code: str = ""
    retried: bool = False
    wait_ms: int | None = None
    by: str = ""
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class TimelineRow:
    """One line of the timeline. `ended_at` is nothing while the row is open; `key` is stable over updates of the row."""

    key: str
    seq: int
    kind: Literal["invocation", "model", "tool", "approval", "input", "suspension", "resolution", "late"]
    label: str
    state: str
    started_at: int
    ended_at: int | None
    refers: str
    notes: tuple[RowNote, ...] = ()


@dataclass(frozen=True, kw_only=True)
class InboxRow:
    """One open or closed request, or one invocation, in the inbox. `subject` is what a call is about, such as its path."""

    id: str
    kind: Literal["approval", "input", "invocation"]
    title: str
    agent: str
    delivery: str
    requester: str
    state: str
    risk: str
    at: int
    expires_at: int | None
    claimed_by: str | None
    invocation: str
    subject: str = ""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The answer of a chain check; `broken` names the first broken event as `{invocation, seq, position, why}`."""

    intact: bool
    events: int
    invocations: int
    broken: Mapping[str, Json] | None


@dataclass(frozen=True, kw_only=True)
class FeedFrame:
    """One step of the feed. `previous` is the position before it; `gap` tells that positions in between were retired."""

    position: int
    previous: int
    gap: bool
    invocation: str | None
    delivery: str | None
    event: EventItem


@dataclass(frozen=True, kw_only=True)
class FeedPage:
    """A stretch of the feed after a cursor. `resync` tells that the cursor is of another epoch or lies ahead of the head."""

    epoch: str
    frames: Sequence[FeedFrame]
    head: int
    resync: bool
