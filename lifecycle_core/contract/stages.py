"""The stages of an invocation at which plugins may sit, as data.

Two boundaries hold throughout. A step is not a model turn: a step prepares a context, may ask the model several times and runs
the calls that it made. A remote agent does not expose how its tools act: of it, only admission and outcome are visible.

Reference: seed-contracts 23.2 and 24; `docs/stages.md` is generated from this table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

type Kind = Literal["gate", "transformer", "interceptor", "observer"]
type When = Literal["before", "after"]
type Of = Literal["invocation", "attempt", "step", "model turn", "tool call", "delegation"]
type Flag = Literal["sync", "async", "cancellable", "streaming", "resumable"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage: whose identity it carries, what it can do, and which kinds of plugins may sit there.

    `mutable` names what a transformer or an interceptor may change of the subject; `carrier` tells that interceptors wrap it;
    `told` names the events of the journal that say what happened there.
    """

    name: str
    of: Of
    scope: Literal["common", "engine"]
    flags: frozenset[Flag]
    kinds: frozenset[Kind]
    mutable: frozenset[str] = frozenset()
    carrier: bool = False
    told: tuple[str, ...] = ()


def _stage(
    name: str,
    of: Of,
    scope: Literal["common", "engine"],
    flags: set[Flag],
    kinds: set[Kind],
    *mutable: str,
    told: tuple[str, ...],
) -> Stage:
    return Stage(
        name=name,
        of=of,
        scope=scope,
        flags=frozenset(flags),
        kinds=frozenset(kinds | {"observer"}),
        mutable=frozenset(mutable),
        carrier="interceptor" in kinds,
        told=told,
    )


INVOCATION_ADMIT: Final = "invocation.admit"
ATTEMPT_RUN: Final = "attempt.run"
STEP_RUN: Final = "step.run"
CONTEXT_PREPARE: Final = "context.prepare"
MODEL_CALL: Final = "model.call"
MODEL_STREAM: Final = "model.stream"
MODEL_RESPONSE: Final = "model.response"
TOOL_ADMIT: Final = "tool.admit"
TOOL_CALL: Final = "tool.call"
TOOL_RESULT: Final = "tool.result"
DELEGATION_RUN: Final = "delegation.run"
SUSPENSION: Final = "suspension"
INVOCATION_SETTLE: Final = "invocation.settle"

CATALOGUE: Final[tuple[Stage, ...]] = (
    _stage(
        INVOCATION_ADMIT,
        "invocation",
        "common",
        {"sync", "async", "cancellable"},
        {"gate"},
        told=("invocation.admitted",),
    ),
    _stage(
        ATTEMPT_RUN,
        "attempt",
        "common",
        {"async", "cancellable", "resumable"},
        set(),
        told=("session.opened", "session.restored"),
    ),
    _stage(STEP_RUN, "step", "engine", {"async", "cancellable", "resumable"}, set(), told=()),
    _stage(
        CONTEXT_PREPARE,
        "step",
        "common",
        {"sync", "async", "cancellable"},
        {"transformer"},
        "messages",
        told=(),
    ),
    _stage(
        MODEL_CALL,
        "model turn",
        "common",
        {"async", "cancellable", "streaming"},
        {"gate", "transformer", "interceptor"},
        "messages",
        told=("model.requested", "model.failed"),
    ),
    _stage(
        MODEL_STREAM,
        "model turn",
        "engine",
        {"sync", "cancellable", "streaming"},
        {"transformer"},
        "text",
        told=("output.produced",),
    ),
    _stage(
        MODEL_RESPONSE,
        "model turn",
        "common",
        {"sync", "async"},
        {"transformer"},
        "text",
        told=("model.responded",),
    ),
    _stage(
        TOOL_ADMIT,
        "tool call",
        "common",
        {"sync", "async", "cancellable", "resumable"},
        {"gate", "transformer"},
        "arguments",
        told=("tool.requested", "approval.requested"),
    ),
    _stage(
        TOOL_CALL,
        "tool call",
        "common",
        {"async", "cancellable", "streaming"},
        {"interceptor"},
        "arguments",
        told=("tool.intended", "tool.attempted"),
    ),
    _stage(
        TOOL_RESULT,
        "tool call",
        "common",
        {"sync", "async"},
        {"transformer"},
        "content",
        told=("tool.completed",),
    ),
    _stage(
        DELEGATION_RUN,
        "delegation",
        "engine",
        {"async", "cancellable", "streaming", "resumable"},
        {"gate"},
        told=(),
    ),
    _stage(
        SUSPENSION,
        "invocation",
        "common",
        {"async", "cancellable", "resumable"},
        set(),
        told=("turn.suspended", "invocation.resumed", "approval.expired", "input.expired"),
    ),
    _stage(
        INVOCATION_SETTLE,
        "invocation",
        "common",
        {"sync", "async"},
        set(),
        told=(
            "invocation.completed",
            "invocation.failed",
            "invocation.invalidated",
            "invocation.cancelled",
            "invocation.became-unknown",
        ),
    ),
)
BY_NAME: Final[Mapping[str, Stage]] = {stage.name: stage for stage in CATALOGUE}
