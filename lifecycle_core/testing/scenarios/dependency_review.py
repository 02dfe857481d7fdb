"""A review of dependencies that writes two files in the same turn, each with its own decision."""

import re

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.answers import Answer, Reply
from lifecycle_core.testing.chat_requests import ChatRequest
from lifecycle_core.testing.scenarios import steps

FINDINGS = "reviews/dependencies.md"
TODO = "reviews/todo.md"


def script(request: ChatRequest) -> Reply:
    """Read what is required, write findings and things to do beside a look at the policy, report what was written."""
    read = request.last("files_read")
    if read is None:
        text = "I start with what the service requires."
        return Answer(text=text, calls=(steps.read("requirements.txt"),))
    writes = request.calls("files_write")
    if not writes:
        if read.failed:
            return steps.complete(f"I cannot review this: {read.reason}", {"written": [], "declined": []})
        return _write(_requirements(steps.content(read)), request.input.get("focus", "everything"))
    written = [steps.written(done) for done in writes if steps.written(done)]
    declined: list[Json] = [
        {"path": str(done.arguments.get("path", "")), "reason": steps.why_not(done)}
        for done in writes
        if not steps.written(done)
    ]
    text = f"{len(written)} of {len(writes)} files are written."
    return steps.complete(text, {"written": [*written], "declined": declined})


def _requirements(text: str) -> dict[str, str]:
    """Return what each required package's version must be, as it is written."""
    lines = (line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    found = (re.match(r"([A-Za-z0-9._-]+(?:\[[^\]]*\])?)\s*(.*)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def _write(requirements: dict[str, str], focus: str) -> Answer:
    loose = {name: versions for name, versions in requirements.items() if not versions.startswith("==")}
    text = (
        f"{len(requirements)} packages, of which {len(loose)} have no fixed version. I write down both files."
    )
    shown = loose if focus == "unpinned" else requirements
    calls = (
        steps.read("docs/dependency-policy.md"),
        steps.write(FINDINGS, _findings(shown, loose)),
        steps.write(TODO, _todo(loose)),
        steps.listing("docs"),
    )
    return Answer(text=text, calls=calls)


def _findings(shown: dict[str, str], loose: dict[str, str]) -> str:
    rows = [f"| {name} | {versions or 'any'} | {_finding(name, loose)} |" for name, versions in shown.items()]
    return "\n".join(["# Dependencies", "", "| package | version | finding |", "|---|---|---|", *rows]) + "\n"


def _finding(name: str, loose: dict[str, str]) -> str:
    return "not pinned" if name in loose else "none"


def _todo(loose: dict[str, str]) -> str:
    items = [f"- [ ] Pin {name} ({versions or 'no version at all'})" for name, versions in loose.items()]
    return "\n".join(["# To do", "", *(items or ["Nothing."])]) + "\n"
