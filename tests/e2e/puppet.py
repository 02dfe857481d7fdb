"""An agent on strings: a scripted model in the test's own process that makes exactly the calls that its input names."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from lifecycle_core.testing.answers import Answer, Call
from lifecycle_core.testing.chat_requests import ChatRequest
from lifecycle_core.testing.model_server import ModelServer
from lifecycle_core.testing.scenarios import steps
from tests.e2e.rest import Rest
from tests.harness.demo import ROOT, Demo

SECRET = "stands-for-a-key"
NAME = "puppet"
ACTION = "play"
AGENTS = """
[[agents]]
name = "puppet"
provider = "chat-completions"
model = "on-strings"
base_url = "{base_url}"
credential = "refs/puppet"
instructions = "Do what the input says."
capabilities = ["structured-completion", "action-interaction"]
tools = ["files"]
workspace = "demo"
access = [{{ mode = "read", path = "**" }}, {{ mode = "write", path = "puppet/**" }}]

[[agents.actions]]
name = "play"
purpose = "Make the calls that the input names, turn by turn."
input_schema = {{ type = "object", required = ["turns"], properties = {{ turns = {{ type = "string", minLength = 1 }} }} }}
result_schema = {{ type = "object", required = ["last"], properties = {{ last = {{ type = "string" }} }} }}
"""

type Turn = Mapping[str, Any]


def say(text: str, *calls: Call) -> Turn:
    """Describe one turn of the model."""
    return {"text": text, "calls": [{"tool": call.tool, "arguments": call.arguments} for call in calls]}


def writes(name: str, count: int) -> Turn:
    """Describe a turn that writes some files below one folder, each of which somebody has to approve."""
    calls = (steps.write(f"puppet/{name}/{number}.md", f"# {name} {number}\n") for number in range(count))
    return say(f"I write {count} files.", *calls)


def script(request: ChatRequest) -> Answer:
    """Play the next turn of the input, then complete."""
    turns = json.loads(request.input["turns"])
    played = sum(1 for message in request.messages if message["role"] == "assistant")
    if played >= len(turns):
        return steps.complete("That is all.", {"last": turns[-1]["text"]})
    calls = tuple(Call(tool=call["tool"], arguments=call["arguments"]) for call in turns[played]["calls"])
    return Answer(text=turns[played]["text"], calls=calls)


@dataclass(frozen=True, kw_only=True)
class Puppet:
    """The agent as it is registered in a running demo."""

    demo: Demo
    model: ModelServer

    @classmethod
    @contextmanager
    def registered(cls, demo: Demo) -> Iterator[Self]:
        """Register it as a person would, from the command line beside the running server."""
        with ModelServer(script, secret=SECRET) as model:
            agents = demo.data.with_name("agents.toml")
            agents.write_text(AGENTS.format(base_url=model.base_url))
            manage(
                demo,
                ["credential", "set", "refs/puppet", "--origin", model.origin],
                ["agents", "apply", str(agents)],
                given=SECRET,
            )
            yield cls(demo=demo, model=model)

    def play(self, rest: Rest, delivery: str, *turns: Turn) -> str:
        """Start it on some turns; return the id of the invocation."""
        return rest.start(NAME, ACTION, {"turns": json.dumps(turns)}, delivery)

    def written(self, path: str) -> str:
        """Read a file of the workspace, empty where there is none."""
        file = self.demo.data / "workspaces" / "demo" / path
        return file.read_text() if file.exists() else ""


def manage(demo: Demo, *commands: Sequence[str], given: str = "") -> None:
    """Run commands beside the running server, in one process because each start of one costs seconds."""
    program = f"from django.core.management import call_command\nfor c in {commands!r}: call_command(*c)"
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", program, "--data", str(demo.data)],
        cwd=ROOT,
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
