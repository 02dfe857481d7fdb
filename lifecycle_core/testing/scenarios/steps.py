"""What the scripts have in common to say."""

from collections.abc import Mapping

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.answers import Answer, Call
from lifecycle_core.testing.chat_requests import Done


def complete(text: str, result: Mapping[str, Json]) -> Answer:
    """Complete the action."""
    return Answer(text=text, calls=(Call(tool="workflow_complete", arguments={"result": dict(result)}),))


def read(path: str) -> Call:
    return Call(tool="files_read", arguments={"path": path})


def listing(path: str) -> Call:
    return Call(tool="files_list", arguments={"path": path})


def write(path: str, content: str) -> Call:
    return Call(tool="files_write", arguments={"path": path, "content": content})


def ask(identity: str, prompt: str, schema: Mapping[str, Json]) -> Call:
    """Ask people; `schema` is that of their answer."""
    arguments: dict[str, Json] = {
        "requestIdentity": identity,
        "prompt": prompt,
        "responseSchema": dict(schema),
    }
    return Call(tool="workflow_request_input", arguments=arguments)


def content(done: Done) -> str:
    """Return the text of a file that was read, empty where it could not be."""
    return str(done.result.get("content", "")) if isinstance(done.result, dict) else ""


def written(done: Done) -> str:
    """Return where a file was written, which a person may have changed; empty where it was not."""
    result = done.result if isinstance(done.result, dict) else {}
    return str(result.get("path", "")) if result.get("written") else ""


def why_not(done: Done) -> str:
    """Return why a call did not do what it should: the reason of a refusal, or what a person answered instead."""
    return done.reason or f"a person answered instead: {done.result}"


def fields(text: str) -> dict[str, str]:
    """Return the `name: value` lines of a document."""
    pairs = (line.split(": ", 1) for line in text.splitlines() if ": " in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in pairs}
