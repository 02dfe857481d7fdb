"""An agent on strings: a scripted model in the test's own process that makes exactly the calls that its input names."""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from lifecycle_core.contract.digests import Json
from lifecycle_core.testing import answers, faults
from lifecycle_core.testing.answers import Answer, Call, Hold, Refusal, Reply, Stream
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
tools = ["files", "http_request"]
workspace = "demo"
access = [{{ mode = "read", path = "**" }}, {{ mode = "write", path = "puppet/**" }}]

[[agents.actions]]
name = "play"
purpose = "Make the calls that the input names, turn by turn."
input_schema = {{ type = "object", required = ["turns"], properties = {{ turns = {{ type = "string", minLength = 1 }} }} }}
result_schema = {{ type = "object", required = ["last"], properties = {{ last = {{ type = "string" }} }} }}
"""
# The same on one session for all that are about the same: only the names and the session differ.
CHORUS = "chorus"
SINGS = "sing"
SHARED = 'session = { scope = "data-bound", source = "turns", isolation = "shared" }\n'
# One that no provider runs here.
PILOT = "pilot"

type Turn = Mapping[str, Any]


def say(text: str, *calls: Call) -> Turn:
    """Describe one turn of the model."""
    return {"text": text, "calls": [{"tool": call.tool, "arguments": call.arguments} for call in calls]}


def writes(name: str, count: int) -> Turn:
    """Describe a turn that writes some files below one folder, each of which somebody has to approve."""
    calls = (steps.write(f"puppet/{name}/{number}.md", f"# {name} {number}\n") for number in range(count))
    return say(f"I write {count} files.", *calls)


def posts(url: str) -> Turn:
    """Describe a turn that posts something to the outside, which somebody has to approve."""
    arguments: dict[str, Json] = {"method": "POST", "url": url, "body": '{"status": "all is well"}'}
    return say("I post it.", Call(tool="http_request", arguments=arguments))


def refused(turn: Turn, *refusals: Refusal) -> Turn:
    """Describe a turn before which the model's server refuses a few times."""
    return {**turn, "refusals": [vars(refusal) for refusal in refusals]}


def held(turn: Turn, name: str) -> Turn:
    """Describe a turn whose answer comes only when the hold of that name is released."""
    return {**turn, "hold": name}


@dataclass(frozen=True)
class Script:
    """Play the next turn of the input, then complete."""

    holds: dict[str, Hold] = field(default_factory=lambda: defaultdict(Hold))
    refusals: Counter[str] = field(default_factory=Counter)

    def __call__(self, request: ChatRequest) -> Reply:
        turns = json.loads(request.input["turns"])
        played = sum(1 for message in request.messages if message["role"] == "assistant")
        if played >= len(turns):
            return steps.complete("That is all.", {"last": turns[-1]["text"]})
        return self.play(turns[played], request)

    def play(self, turn: Turn, request: ChatRequest) -> Reply:
        """Refuse as often as the turn says, then answer, at once or when the hold is released."""
        known = json.dumps(turn)
        self.refusals[known] += 1
        given = turn.get("refusals", ())
        if self.refusals[known] <= len(given):
            return Refusal(**given[self.refusals[known] - 1])
        calls = tuple(Call(tool=call["tool"], arguments=call["arguments"]) for call in turn["calls"])
        answer = Answer(text=turn["text"], calls=calls)
        if "hold" not in turn:
            return answer
        return Stream(faults.slow_first_byte(self.holds[turn["hold"]])(answers.events(answer, request)))

    def release(self) -> None:
        """Let everything go on that is held."""
        for hold in self.holds.values():
            hold.released.set()


@dataclass(frozen=True, kw_only=True)
class Puppet:
    """The agent as it is registered in a running demo."""

    demo: Demo
    model: ModelServer
    script: Script

    @classmethod
    @contextmanager
    def registered(cls, demo: Demo) -> Iterator[Self]:
        """Register it as a person would, from the command line beside the running server."""
        script = Script()
        with ModelServer(script, secret=SECRET) as model:
            agents = demo.data.with_name("agents.toml")
            agents.write_text(described(model.base_url))
            manage(
                demo,
                ["credential", "set", "refs/puppet", "--origin", model.origin],
                ["agents", "apply", str(agents)],
                given=SECRET,
            )
            try:
                yield cls(demo=demo, model=model, script=script)
            finally:
                script.release()

    def play(self, rest: Rest, delivery: str, *turns: Turn) -> str:
        """Start it on some turns; return the id of the invocation."""
        return rest.start(NAME, ACTION, {"turns": json.dumps(turns)}, delivery)

    def sing(self, rest: Rest, delivery: str, *turns: Turn) -> str:
        """Start the chorus on some turns: all of a delivery that have the same turns share a session."""
        return rest.start(CHORUS, SINGS, {"turns": json.dumps(turns)}, delivery)

    def written(self, path: str) -> str:
        """Read a file of the workspace, empty where there is none."""
        file = self.demo.data / "workspaces" / "demo" / path
        return file.read_text() if file.exists() else ""


def described(base_url: str) -> str:
    """Return the agents as they are registered: the puppet, the one with shared sessions, the one that cannot run."""
    puppet = AGENTS.format(base_url=base_url)
    chorus = puppet.replace(f'"{NAME}"', f'"{CHORUS}"', 1).replace(f'"{ACTION}"', f'"{SINGS}"')
    chorus = chorus.replace("\n[[agents.actions]]", f"{SHARED}\n[[agents.actions]]")
    pilot = puppet.replace(f'"{NAME}"', f'"{PILOT}"', 1).replace(f'"{ACTION}"', '"fly"')
    pilot = pilot.replace("chat-completions", "copilot-sdk")
    return puppet + chorus + pilot


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
