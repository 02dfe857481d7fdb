"""The tools by which an agent speaks to the engine instead of acting (reference: seed-contracts 15)."""

from collections.abc import Callable, Sequence
from typing import Final

from lifecycle_core.contract import errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.contract.ports import EffectClass, InputAsked, StructuredCompletion, ToolError, ToolSpec
from lifecycle_core.tools.specs import argument, spec

FAMILY: Final = "workflow"
COMPLETE: Final = "workflow_complete"
REQUEST_INPUT: Final = "workflow_request_input"
ANY_TEXT: Final[dict[str, Json]] = {"type": "string"}


def complete_spec(result_schema: Json) -> ToolSpec:
    """Return the completion tool of an action; the action's result schema is the schema of `result`."""
    return spec(
        COMPLETE,
        FAMILY,
        "Complete the action with its result. This is the only way to complete it; call it once, when everything is done.",
        EffectClass.READ_ONLY,
        {"result": result_schema},
        required=["result"],
    )


REQUEST_INPUT_SPEC: Final = spec(
    REQUEST_INPUT,
    FAMILY,
    "Ask a person for something that only they can say. The action waits until they answer.",
    EffectClass.READ_ONLY,
    {
        "requestIdentity": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": "A name of your own for this question; the answer carries it back",
        },
        "prompt": {
            "type": "string",
            "minLength": 1,
            "maxLength": 20_000,
            "description": "The question, in full",
        },
        "responseSchema": {
            "type": "object",
            "description": 'The JSON Schema of the answer; without it the answer is text. Example: {"type": "boolean"}',
        },
    },
    required=["requestIdentity", "prompt"],
)


class Workflow:
    """Offer the workflow tools and understand their calls.

    `check_form` tells what is wrong with a schema; the engine's is given, since tools do not know the engine.
    """

    def __init__(self, check_form: Callable[[Json], Sequence[Problem]]) -> None:
        self._check_form = check_form

    def specs(self, result_schema: Json, *, interaction: bool) -> tuple[ToolSpec, ...]:
        """Return what the model is offered; the input request only with the interaction capability."""
        complete = complete_spec(result_schema)
        return (complete, REQUEST_INPUT_SPEC) if interaction else (complete,)

    def signal(
        self, call_id: str, tool: str, arguments: dict[str, Json]
    ) -> StructuredCompletion | InputAsked:
        """Turn a call into what it says. Raises `ToolError` for arguments that say nothing."""
        match tool:
            case "workflow_complete":
                return completion(arguments)
            case "workflow_request_input":
                return input_asked(call_id, arguments, self._check_form)
            case _:
                raise ToolError("UNKNOWN_TOOL", f"{tool} is not a workflow tool")


def completion(arguments: dict[str, Json]) -> StructuredCompletion:
    """Return the completion that a call states; its result is not checked here."""
    if set(arguments) != {"result"}:
        raise ToolError("ARGUMENTS_INVALID", "give exactly one argument, result")
    return StructuredCompletion(result=arguments["result"])


def input_asked(
    call_id: str, arguments: dict[str, Json], check_form: Callable[[Json], Sequence[Problem]]
) -> InputAsked:
    """Return the question that a call asks. Raises `ToolError` for a response schema that no answer could be checked with."""
    schema = arguments.get("responseSchema", ANY_TEXT)
    problems = check_form(schema)
    if problems:
        raise ToolError("RESPONSE_SCHEMA_INVALID", errors.listed(problems))
    return InputAsked(
        call_id=call_id,
        request_identity=argument(arguments, "requestIdentity"),
        prompt=argument(arguments, "prompt"),
        response_schema=schema,
    )
