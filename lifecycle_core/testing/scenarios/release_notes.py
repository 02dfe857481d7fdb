"""Release notes for an audience that a person chooses."""

import re
from typing import Final

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing.answers import Answer, Reply
from lifecycle_core.testing.chat_requests import ChatRequest, Done
from lifecycle_core.testing.scenarios import steps

type Changes = dict[str, list[str]]

QUESTION: Final[dict[str, Json]] = {
    "type": "object",
    "required": ["audience"],
    "additionalProperties": False,
    "properties": {
        "audience": {
            "enum": ["developers", "customers", "executives"],
            "description": "Who will read the notes",
        },
        "highlight": {
            "type": "string",
            "maxLength": 200,
            "description": "What should come first, if anything",
        },
    },
}


def script(request: ChatRequest) -> Reply:
    """Read the changes, ask for the audience, write the notes, report where they are."""
    version = str(request.input["version"])
    changes = request.last("files_read")
    if changes is None:
        calls = (steps.listing("."), steps.read("CHANGES.md"))
        return Answer(
            text=f"I will look at what changed in {version} and at what else there is to know.", calls=calls
        )
    section = _section(steps.content(changes), version)
    if not section:
        reason = changes.reason or f"CHANGES.md says nothing about {version}"
        return steps.complete(
            f"There is nothing that I could write about: {reason}.", {"path": None, "declined": reason}
        )
    asked = request.last("workflow_request_input")
    if asked is None:
        return _ask(version, section)
    notes = request.last("files_write")
    if notes is None:
        return _write(version, section, asked)
    return _report(notes)


def _ask(version: str, section: Changes) -> Answer:
    count = sum(len(entries) for entries in section.values())
    prompt = (
        f"Version {version} has {count} changes ({_counted(section)}). Who are the release notes for, "
        "and is there something that should come first?"
    )
    text = f"I have read the {count} changes of {version}. Before I write, I need to know who will read the notes."
    return Answer(text=text, calls=(steps.ask(f"audience-{version}", prompt, QUESTION),))


def _write(version: str, section: Changes, asked: Done) -> Answer:
    if isinstance(asked.result, dict) and asked.result.get("kind") == "ACTION_FINISH_REQUESTED":
        result: dict[str, Json] = {
            "path": None,
            "declined": "a person asked to finish before anything was written",
        }
        return steps.complete("I finish here, as asked.", result)
    answer = asked.answer if isinstance(asked.answer, dict) else {}
    audience, highlight = str(answer.get("audience", "developers")), str(answer.get("highlight", "")).strip()
    text = f"I write for {audience}" + (f", and “{highlight}” comes first." if highlight else ".")
    if not answer:
        text = "Nobody chose an audience, so I write for developers."
    return Answer(
        text=text, calls=(steps.write(f"notes/{version}.md", _notes(version, section, audience, highlight)),)
    )


def _report(notes: Done) -> Answer:
    path = steps.written(notes)
    if path:
        return steps.complete(f"The notes are in {path}.", {"path": path})
    reason = steps.why_not(notes)
    return steps.complete(f"The notes were not written: {reason}", {"path": None, "declined": reason})


def _section(text: str, version: str) -> Changes:
    """Return the changes of one version by their kind."""
    found: Changes = {}
    inside, kind = False, ""
    for line in text.splitlines():
        if line.startswith("## "):
            inside = line.removeprefix("## ").split(" ")[0] == version
        elif inside and line.startswith("### "):
            kind = line.removeprefix("### ")
        elif inside and line.startswith("- "):
            found.setdefault(kind, []).append(line.removeprefix("- "))
    return found


def _counted(section: Changes) -> str:
    return ", ".join(f"{len(entries)} {kind.lower()}" for kind, entries in section.items())


def _notes(version: str, section: Changes, audience: str, highlight: str) -> str:
    first = [f"**{highlight}**", ""] if highlight else []
    body = {"customers": _for_customers, "executives": _for_executives}.get(audience, _for_developers)(
        section
    )
    return "\n".join([f"# Harbour {version}", "", *first, *body]) + "\n"


def _for_developers(section: Changes) -> list[str]:
    return [line for kind, entries in section.items() for line in (f"## {kind}", *_bullets(entries), "")][:-1]


def _for_customers(section: Changes) -> list[str]:
    titles = {"Added": "New", "Changed": "Better", "Fixed": "Fixed", "Security": "Safer"}
    plain = {
        titles.get(kind, kind): [_without_number(entry) for entry in entries]
        for kind, entries in section.items()
    }
    return ["Here is what is new for you and your customers.", "", *_for_developers(plain)]


def _for_executives(section: Changes) -> list[str]:
    main = [_without_number(entries[0]) for entries in section.values()]
    return [f"This version brings {_counted(section)}. In short:", "", *_bullets(main)]


def _bullets(entries: list[str]) -> list[str]:
    return [f"- {entry}" for entry in entries]


def _without_number(entry: str) -> str:
    return re.sub(r" \(#\d+\)", "", entry)
