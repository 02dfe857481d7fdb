"""What goes into an invocation (the dispatch) and what comes out (the disposition).

Reference: seed-contracts 3.2 and 3.3. `as_json()` gives the camel-case form that digests are computed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.identities import EpisodeRef, SessionAffinityRef

COMPLETION = "structured-completion"
INTERACTION = "action-interaction"

# Why a provider's turn failed, and what a turn that ended did wrong (reference: seed-contracts 3.4).
FAILURES: Final = frozenset(
    {
        "PROVIDER_EXITED",
        "PROVIDER_TIMED_OUT",
        "PROVIDER_CANCELLED",
        "PROVIDER_PROTOCOL_ERROR",
        "ACTION_INTERACTION_UNAVAILABLE",
        "ACTION_INTERACTION_CANCELLED",
        "CREDENTIAL_UNAVAILABLE",
    }
)
VIOLATIONS: Final = frozenset(
    {
        "RESULT_SCHEMA_INVALID",
        "RESULT_CORRELATION_INVALID",
        "TURN_ENDED_WITHOUT_DISPOSITION",
        "INTERACTION_CORRELATION_INVALID",
        "PENDING_INPUT_AT_COMPLETION",
        "DUPLICATE_COMPLETION",
    }
)

type Retry = Literal["never", "same-episode", "new-attempt"]
type Mode = Literal["read", "write"]
type CancelReason = Literal["DELIVERY_CANCELLED", "TIMEOUT", "COORDINATOR_STOP"]


@dataclass(frozen=True, kw_only=True)
class AccessRule:
    """Admit reading or writing below a relative path: `**`, `X/**` or one exact path."""

    mode: Mode
    path: str

    def as_json(self) -> dict[str, Json]:
        return {"mode": self.mode, "path": self.path}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Bind an action to its executor."""

    action: str
    executor: str
    binding: str

    def as_json(self) -> dict[str, Json]:
        return {
            "actionIdentity": self.action,
            "executorIdentity": self.executor,
            "bindingIdentity": self.binding,
        }


@dataclass(frozen=True, kw_only=True)
class Action:
    """Say what is to be done, from what input and to what result. `validators` are the gate's own, where it names any."""

    identity: str
    purpose: str
    input_schema: Json
    result_schema: Json
    validators: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Json]:
        gate: dict[str, Json] = {"freeTextBypass": "prohibited"}
        if self.validators is not None:
            gate["deterministic"] = list(self.validators)
        return {
            "identity": self.identity,
            "purpose": self.purpose,
            "inputSchema": self.input_schema,
            "resultSchema": self.result_schema,
            "gate": gate,
        }


@dataclass(frozen=True, kw_only=True)
class Executor:
    """Say who does it: the session part decides compatibility, the turn part what it may reach.

    `session` and `turn` keep the shape of the contract, since their digests are identities.
    """

    identity: str
    binding: str
    session_compatibility: str
    session: Mapping[str, Json]
    turn: Mapping[str, Json]

    def as_json(self) -> dict[str, Json]:
        return {
            "identity": self.identity,
            "bindingIdentity": self.binding,
            "sessionCompatibilityIdentity": self.session_compatibility,
            "session": dict(self.session),
            "turn": dict(self.turn),
        }


@dataclass(frozen=True, kw_only=True)
class WorkspaceCapability:
    """Name the workspace that an episode may use; `handle` is a write handle or a read view as the contract shapes it.

    Beside the contract's fields it carries `capability`, the seal of the console that gave it (DESIGN 9).
    """

    kind: Literal["write", "read", "none"]
    handle: Mapping[str, Json] | None = None

    @property
    def name(self) -> str:
        """Return the registered name of the workspace; empty for none."""
        handle = self.handle or {}
        return str(handle.get("savepoint" if self.kind == "write" else "source", ""))

    def as_json(self) -> dict[str, Json]:
        if self.handle is None:
            return {"kind": self.kind}
        return {"kind": self.kind, ("handle" if self.kind == "write" else "view"): dict(self.handle)}


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """Be the complete, digest-bound input of start."""

    episode: EpisodeRef
    plan: Plan
    action: Action
    executor: Executor
    input: Json
    workspace: WorkspaceCapability
    session: SessionAffinityRef

    def as_json(self) -> dict[str, Json]:
        return {
            "episode": self.episode.as_json(),
            "plan": self.plan.as_json(),
            "action": self.action.as_json(),
            "executor": self.executor.as_json(),
            "input": self.input,
            "workspace": self.workspace.as_json(),
            "session": self.session.as_json(),
        }


# Dispositions. Each is also what a page or REST shows of an ended turn.


@dataclass(frozen=True, kw_only=True)
class Completed:
    kind = "completed"
    result: Json


@dataclass(frozen=True, kw_only=True)
class AwaitingInput:
    """The turn waits; `open` lists the identities of the open requests."""

    kind = "awaiting-input"
    open: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Failed:
    kind = "failed"
    code: str
    retry: Retry
    detail: str


@dataclass(frozen=True, kw_only=True)
class Invalid:
    kind = "invalid"
    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Unknown:
    kind = "unknown"
    reason: str
    detail: str
    owner: str = "invocation"


type Disposition = Completed | AwaitingInput | Failed | Invalid | Unknown
