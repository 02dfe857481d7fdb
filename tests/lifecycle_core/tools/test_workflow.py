"""The workflow tools say what an agent means, and nothing that nobody could check."""

from collections.abc import Sequence

import pytest

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.ports import InputAsked, StructuredCompletion, ToolError, WorkflowTools
from lifecycle_core.tools import workflow

RESULT: Json = {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}


def no_problems(schema: Json) -> Sequence[Problem]:
    return []


TOOLS: WorkflowTools = workflow.Workflow(no_problems)


def test_the_result_schema_of_the_action_is_that_of_the_result() -> None:
    (complete,) = TOOLS.specs(RESULT, interaction=False)
    assert complete.name == "workflow_complete"
    assert complete.input_schema["properties"] == {"result": RESULT}
    assert complete.input_schema["required"] == ["result"]
    assert complete.schema_digest == digests.digest(complete.input_schema)


def test_asking_is_offered_only_with_the_capability() -> None:
    assert [spec.name for spec in TOOLS.specs(RESULT, interaction=True)] == [
        "workflow_complete",
        "workflow_request_input",
    ]


@pytest.mark.parametrize("result", [None, {}, {"path": "x"}, [], "text", 0, False])
def test_a_completion_carries_its_result(result: Json) -> None:
    assert TOOLS.signal("c1", "workflow_complete", {"result": result}) == StructuredCompletion(result=result)


@pytest.mark.parametrize("arguments", [{}, {"result": 1, "more": 2}, {"Result": 1}])
def test_a_completion_without_exactly_a_result_says_nothing(arguments: dict[str, Json]) -> None:
    with pytest.raises(ToolError) as caught:
        TOOLS.signal("c1", "workflow_complete", arguments)
    assert caught.value.code == "ARGUMENTS_INVALID"


def test_a_question_is_answered_with_text_unless_it_says_otherwise() -> None:
    arguments: dict[str, Json] = {"requestIdentity": "region", "prompt": "Which region?"}
    assert TOOLS.signal("c2", "workflow_request_input", arguments) == InputAsked(
        call_id="c2", request_identity="region", prompt="Which region?", response_schema={"type": "string"}
    )
    asked = TOOLS.signal("c2", "workflow_request_input", arguments | {"responseSchema": {"type": "boolean"}})
    assert isinstance(asked, InputAsked)
    assert asked.response_schema == {"type": "boolean"}


def test_a_response_schema_that_nothing_can_be_checked_with_is_refused() -> None:
    tools = workflow.Workflow(lambda schema: [Problem("/$ref", "is a keyword that is not supported")])
    with pytest.raises(ToolError) as caught:
        tools.signal(
            "c3",
            "workflow_request_input",
            {"requestIdentity": "a", "prompt": "b", "responseSchema": {"$ref": "#"}},
        )
    assert (caught.value.code, "/$ref" in caught.value.detail) == ("RESPONSE_SCHEMA_INVALID", True)


@pytest.mark.parametrize("arguments", [{}, {"requestIdentity": "a"}, {"requestIdentity": 1, "prompt": "b"}])
def test_a_question_without_words_is_refused(arguments: dict[str, Json]) -> None:
    with pytest.raises(ToolError):
        TOOLS.signal("c4", "workflow_request_input", arguments)


def test_another_tool_is_no_workflow_tool() -> None:
    with pytest.raises(ToolError):
        TOOLS.signal("c5", "files_read", {})
