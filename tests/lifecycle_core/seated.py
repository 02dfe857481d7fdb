"""Subjects and plugins, as stages see them."""

from typing import Any, Final

from lifecycle_core.contract import stages
from lifecycle_core.contract.frozen import freeze
from lifecycle_core.contract.plugins import Plugin, Verdict
from lifecycle_core.contract.ports import EffectClass
from lifecycle_core.contract.subjects import Budget, Identity, ToolCall, Trusted

IDENTITY: Final = Identity(invocation="i", attempt="1", model_turn=1, tool_call="call-1")
BUDGET: Final = Budget(model_turns=1, tool_calls=2, tokens=3, seconds=4)
TRUSTED: Final = Trusted(tenant="default", principal="user:ann", agent="a", budget=BUDGET)


def tool_call(**given: Any) -> ToolCall:
    """Return a call of a tool."""
    fields: dict[str, Any] = {
        "identity": IDENTITY,
        "trusted": TRUSTED,
        "tool": "send",
        "family": "mail",
        "effect_class": EffectClass.UNSAFE,
        "arguments": {"to": "ann"},
    } | given
    return ToolCall(**fields | {"arguments": freeze(fields["arguments"])})


def gate(act: Any, name: str = "gate", stage: str = stages.TOOL_ADMIT) -> Plugin:
    return Plugin(name=name, stage=stage, kind="gate", act=act)


def saying(outcome: Any, rule: str = "", **given: Any) -> Plugin:
    """Return a gate that always says the same."""
    name = rule or str(outcome)
    return gate(lambda subject: Verdict(outcome=outcome, rule=name, **given), name)


def transformer(act: Any, name: str = "transformer", stage: str = stages.TOOL_ADMIT) -> Plugin:
    return Plugin(name=name, stage=stage, kind="transformer", act=act)


def interceptor(act: Any, name: str = "interceptor", stage: str = stages.TOOL_CALL) -> Plugin:
    return Plugin(name=name, stage=stage, kind="interceptor", act=act)


def observer(act: Any, name: str = "observer", stage: str = stages.TOOL_CALL) -> Plugin:
    return Plugin(name=name, stage=stage, kind="observer", act=act)
