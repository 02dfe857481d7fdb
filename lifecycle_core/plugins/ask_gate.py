"""Ask a person before every call that is not read-only. The workflow tools reach nothing and are never asked."""

from typing import Final

from lifecycle_core.contract.plugins import Risk, Verdict
from lifecycle_core.contract.ports import EffectClass
from lifecycle_core.contract.subjects import ToolCall

RISKS: Final[dict[EffectClass, Risk]] = {
    EffectClass.READ_ONLY: "low",
    EffectClass.IDEMPOTENT: "medium",
    EffectClass.RECONCILABLE: "medium",
    EffectClass.UNSAFE: "high",
}


class AskGate:
    """Ask unless the call is read-only."""

    name = "ask-gate"

    def judge(self, admission: ToolCall) -> Verdict:
        """Allow what only reads, ask for the rest; the risk follows the effect class."""
        risk = RISKS[admission.effect_class]
        if admission.family == "workflow":
            return Verdict(outcome="allow", rule="ask-gate: workflow", risk="low")
        if admission.effect_class is EffectClass.READ_ONLY:
            return Verdict(outcome="allow", rule="ask-gate: read-only", risk=risk)
        return Verdict(outcome="ask", rule="ask-gate: not read-only", risk=risk)
