"""What a coordinator says of an invocation of which nobody knew how it went on (DESIGN 4)."""

from dataclasses import dataclass
from typing import Literal

from lifecycle_core.contract.digests import Json

type Outcome = Literal["continue", "failed", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What became of one call. `result` is what it gave, where it happened; `then` what follows, where it did not."""

    call: str
    happened: bool
    result: Json = None
    then: Literal["", "run", "error"] = ""


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """How an unknown invocation is resolved, by whom and why."""

    outcome: Outcome
    by: str
    reason: str
    findings: tuple[Finding, ...] = ()
