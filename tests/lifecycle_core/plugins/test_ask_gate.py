"""The built-in gate asks before everything that is not read-only."""

import pytest

from lifecycle_core.contract.ports import EffectClass
from lifecycle_core.contract.subjects import ToolCall
from lifecycle_core.plugins.ask_gate import AskGate
from tests.lifecycle_core import seated


def admission(effect_class: EffectClass, family: str = "mail", tool: str = "send") -> ToolCall:
    return seated.tool_call(tool=tool, family=family, effect_class=effect_class, arguments={})


@pytest.mark.parametrize(
    ("effect_class", "outcome", "risk"),
    [
        (EffectClass.READ_ONLY, "allow", "low"),
        (EffectClass.IDEMPOTENT, "ask", "medium"),
        (EffectClass.RECONCILABLE, "ask", "medium"),
        (EffectClass.UNSAFE, "ask", "high"),
    ],
)
def test_what_only_reads_runs_and_the_rest_is_asked_with_the_risk_of_its_effect(
    effect_class: EffectClass, outcome: str, risk: str
) -> None:
    verdict = AskGate().judge(admission(effect_class))
    assert (verdict.outcome, verdict.risk) == (outcome, risk)
    assert verdict.rule.startswith(AskGate.name)


def test_every_effect_class_has_a_risk() -> None:
    for effect_class in EffectClass:
        assert AskGate().judge(admission(effect_class)).outcome in ("allow", "ask")


@pytest.mark.parametrize("effect_class", list(EffectClass))
def test_the_workflow_tools_are_never_asked(effect_class: EffectClass) -> None:
    assert AskGate().judge(admission(effect_class, family="workflow")).outcome == "allow"


def test_a_tool_that_only_calls_itself_workflow_is_asked() -> None:
    assert AskGate().judge(admission(EffectClass.UNSAFE, tool="workflow_complete")).outcome == "ask"
