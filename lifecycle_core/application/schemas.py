"""Say what of a value does not fit a schema, for forms that tell everything at once; each use case judges again."""

from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.errors import Problem
from lifecycle_core.engine import result_schema


def problems(schema: Json, value: Json) -> list[Problem]:
    """Return what does not fit, each with its pointer; empty for a value that does."""
    return result_schema.validate(schema, value)
