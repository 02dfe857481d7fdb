"""The built-in tools by family and by name."""

from typing import Final

from lifecycle_core.contract.ports import Tool
from lifecycle_core.tools.files import FilesList, FilesPatch, FilesRead, FilesWrite
from lifecycle_core.tools.http_request import HttpRequest

_TOOLS: Final[tuple[Tool, ...]] = (
    FilesList(),
    FilesRead(),
    FilesWrite(),
    FilesPatch(),
    HttpRequest(),
)


def all() -> tuple[Tool, ...]:
    """Return every built-in tool."""
    return _TOOLS


def by_family(family: str) -> tuple[Tool, ...]:
    """Return the tools of a family, as an agent's definition names it; none for a name that is no family."""
    return tuple(tool for tool in _TOOLS if tool.spec.family == family)


def find(name: str) -> Tool | None:
    """Return the tool of a name, or nothing."""
    return next((tool for tool in _TOOLS if tool.spec.name == name), None)
