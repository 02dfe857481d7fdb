"""What every built-in tool is made of."""

from collections.abc import Mapping, Sequence
from typing import Literal

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import (
    EffectClass,
    OutcomeUnknown,
    Preparation,
    ToolContext,
    ToolError,
    ToolSpec,
)


def spec(
    name: str,
    family: str,
    description: str,
    effect_class: EffectClass,
    properties: Mapping[str, Json],
    required: Sequence[str] = (),
) -> ToolSpec:
    """Return a spec whose arguments are exactly these properties."""
    schema: dict[str, Json] = {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list(required)
    return ToolSpec(
        name=name,
        family=family,
        description=description,
        input_schema=schema,
        effect_class=effect_class,
        schema_digest=digests.digest(schema),
    )


def argument(arguments: Mapping[str, Json], name: str) -> str:
    """Return an argument that is text. Raises `ToolError` ARGUMENTS_INVALID."""
    value = arguments.get(name)
    if not isinstance(value, str):
        raise ToolError("ARGUMENTS_INVALID", f"{name} must be a string")
    return value


class NotReconcilable:
    """Be the part of a tool that cannot be asked what became of a call."""

    def reconcile(
        self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext
    ) -> Literal["done", "not_done", "unknown"]:
        return "unknown"

    def result_of(self, arguments: dict[str, Json], preparation: Preparation) -> Json:
        raise OutcomeUnknown("this tool cannot say what became of a call")
