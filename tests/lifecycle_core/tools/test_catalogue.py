"""The catalogue holds every built-in tool, each with a closed schema that we can check ourselves."""

from collections.abc import Iterator

import pytest

from lifecycle_core.contract import digests
from lifecycle_core.contract.ports import EffectClass, Tool, ToolSpec
from lifecycle_core.engine import result_schema
from lifecycle_core.tools import catalogue, workflow

EFFECTS = {
    "files_list": EffectClass.READ_ONLY,
    "files_read": EffectClass.READ_ONLY,
    "files_write": EffectClass.RECONCILABLE,
    "files_patch": EffectClass.RECONCILABLE,
    "http_request": EffectClass.UNSAFE,
}


def specs() -> Iterator[ToolSpec]:
    yield from (tool.spec for tool in catalogue.all())
    yield from workflow.Workflow(result_schema.check_form).specs({"type": "string"}, interaction=True)


def test_every_tool_is_found_by_name_and_by_family() -> None:
    assert {tool.spec.name: tool.spec.effect_class for tool in catalogue.all()} == EFFECTS
    for tool in catalogue.all():
        assert catalogue.find(tool.spec.name) is tool
        assert tool in catalogue.by_family(tool.spec.family)
    assert catalogue.find("files") is None
    assert catalogue.by_family("files_read") == ()


@pytest.mark.parametrize("spec", list(specs()), ids=lambda spec: spec.name)
def test_every_schema_is_closed_and_known(spec: ToolSpec) -> None:
    assert result_schema.check_form(spec.input_schema) == []
    assert spec.input_schema["additionalProperties"] is False
    assert spec.schema_digest == digests.digest(spec.input_schema)
    assert result_schema.validate(spec.input_schema, {"unheard": 1}) != []


@pytest.mark.parametrize("tool", catalogue.all(), ids=lambda tool: tool.spec.name)
def test_every_tool_says_what_it_takes(tool: Tool) -> None:
    assert len(tool.spec.description) > 20
    required = tool.spec.input_schema.get("required", [])
    properties = tool.spec.input_schema["properties"]
    assert isinstance(required, list)
    assert isinstance(properties, dict)
    assert set(required) <= set(properties)
