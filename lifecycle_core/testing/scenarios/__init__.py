"""The agents of the demo: how they are registered, what their models say, and the workspace that they work in.

Their models are scripts, but no play-back: each says what comes next from what the tools and the people have answered so far.
"""

import string
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Final

from lifecycle_core.testing.answers import Answer, Reply, Script
from lifecycle_core.testing.chat_requests import ChatRequest
from lifecycle_core.testing.scenarios import customer_notice, dependency_review, release_notes, status_post

PREFIX: Final = "scripted-"
SCRIPTS: Final[Mapping[str, Script]] = {
    "release-notes": release_notes.script,
    "dependency-review": dependency_review.script,
    "customer-notice": customer_notice.script,
    "status-post": status_post.script,
    "release-notes-dsh": release_notes.script,
}
AGENTS: Final = "agents.toml"
HARNESS: Final = "harness.toml"


def script(request: ChatRequest) -> Reply:
    """Answer as the model of whichever agent asks: its model's name tells, else its instructions."""
    name = request.model.removeprefix(PREFIX)
    found = SCRIPTS.get(name) or SCRIPTS.get(_by_instructions().get(request.system, ""))
    if found is None:
        return Answer(text="I am a scripted model and know no script for this agent.")
    return found(request)


def agents_toml(
    *,
    base_url: str,
    endpoint_origin: str,
    model: str = "",
    credential: str = "refs/model",
    harness: bool = False,
) -> str:
    """Return the registration of the demo's agents.

    Without a `model` each agent has a scripted one of its own; `endpoint_origin` is where statuses are posted; `harness` adds
    the agent that runs in the DeepSeek Harness.
    """
    models = {name.replace("-", "_"): model or PREFIX + name for name in SCRIPTS}
    # The dots alone: an escape that a pattern does not need is an error to some readers of patterns.
    pattern = endpoint_origin.replace(".", r"\.")
    template = string.Template(_text(AGENTS) + (_text(HARNESS) if harness else ""))
    return template.substitute(
        models, base_url=base_url, credential=credential, origin=endpoint_origin, pattern=pattern
    )


def demo_files() -> dict[str, str]:
    """Return the files of the demo's workspace by their path in it."""
    names = (
        "CHANGES.md",
        "requirements.txt",
        "docs/dependency-policy.md",
        "docs/incident.md",
        "docs/maintenance.md",
    )
    return {name: _text(f"workspace/{name}") for name in names}


def _by_instructions() -> dict[str, str]:
    agents = tomllib.loads(_text(AGENTS) + _text(HARNESS))["agents"]
    return {agent["instructions"]: agent["name"] for agent in agents}


def _text(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")
