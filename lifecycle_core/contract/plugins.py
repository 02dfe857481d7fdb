"""What a plugin may say. A gate allows, refuses or asks a person; the other kinds follow the same shape.

Reference: seed-contracts 23.2; DESIGN section 8.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import EffectClass

type Risk = Literal["low", "medium", "high"]


@dataclass(frozen=True, kw_only=True)
class ToolAdmission:
    """The call that a gate judges. `arguments` is read-only at every depth."""

    tenant: str
    agent: str
    tool: str
    family: str
    effect_class: EffectClass
    arguments: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A gate's answer; `rule` names the gate and, where it has them, the rule and its version."""

    outcome: Literal["allow", "refuse", "ask"]
    rule: str
    reason: str = ""
    risk: Risk = "medium"


class Gate(Protocol):
    """Judge a tool call before it can reach anything."""

    @property
    def name(self) -> str: ...

    def judge(self, admission: ToolAdmission) -> Verdict: ...
