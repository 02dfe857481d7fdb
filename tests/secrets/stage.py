"""Agents whose models, files and people say their secrets wherever something can be said, over REST and a real wire."""

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from lifecycle_core.application import agents, credentials, permissions, tenants, work
from lifecycle_core.contract.digests import Json
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.testing.answers import Answer, Call, Refusal, Reply
from lifecycle_core.testing.chat_requests import ChatRequest
from lifecycle_core.testing.model_server import ModelServer
from tests.console.api.conftest import Api
from tests.secrets.canaries import Canary, Flock

TENANTS: Final = ("default", "second", "third", "fourth")
AGENT: Final = """
[[agents]]
name = "agent-{number}"
provider = "chat-completions"
model = "model-{number}"
base_url = "{base_url}"
credential = "refs/{number}"
instructions = "You write."
capabilities = ["structured-completion", "action-interaction"]
tools = ["files"]
workspace = "desk-{number}"
access = [{{ mode = "write", path = "**" }}]

[[agents.actions]]
name = "write"
purpose = "Write a note."
input_schema = {{ type = "object" }}
result_schema = {{ type = "object" }}
"""
PIECE: Final = 32
log = logging.getLogger(__name__)
DECISIONS: Final = ("approve", "reject", "edit", "respond")
# In how many places each canary is planted.
PLACES: Final = 19


def in_pieces(text: str) -> list[str]:
    """Cut a text so that every secret is cut."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


@dataclass
class Run:
    """What became of one agent's invocation."""

    canary: Canary
    tenant: str
    agent: str
    invocation: str = ""
    delivery: str = ""
    approvals: Sequence[str] = ()
    inputs: Sequence[str] = ()
    tombstones: Sequence[str] = ()


@dataclass
class Stage:
    """Everything that is played, and what was answered on the way."""

    api: Api
    model: ModelServer
    folder: Path
    desks: dict[str, Path]
    flock: Flock = field(default_factory=Flock)
    runs: list[Run] = field(default_factory=list)
    answers: list[bytes] = field(default_factory=list)

    def play(self, agents: int) -> None:
        """Let so many agents run to their end."""
        self.model.script = self._script
        for tenant in TENANTS[1:]:
            tenants.add(tenant)
        self.runs = [self._make(number) for number in range(agents)]
        for run in self.runs:
            self._start(run)
        self._drive()

    def go_on(self) -> None:
        """Let people decide and answer, and the agents end."""
        for run in self.runs:
            self._decide(run)
        self._drive()
        for run in self.runs:
            self._end(run)

    def bearer(self, tenant: str) -> str:
        return f"owner@{tenant}"

    # Making.

    def _make(self, number: int) -> Run:
        tenant = TENANTS[number % len(TENANTS)]
        canary = self.flock.canary(number)
        admin = permissions.command_line(tenant)
        credentials.set(admin, ref=f"refs/{number}", secret=canary.secret, bound=[self.model.base_url])
        agents.apply(admin, AGENT.format(number=number, base_url=self.model.base_url))
        self._lay_out(canary)
        return Run(canary=canary, tenant=tenant, agent=f"agent-{number}")

    def _lay_out(self, canary: Canary) -> None:
        desk = self.folder / f"desk-{canary.number}"
        desk.mkdir()
        (desk / "leak.txt").write_text(f"key = {canary.form(0)}\n")
        (desk / "old.txt").write_text(f"one\n{canary.form(1)}\ntwo\n")
        (desk / "part.txt").write_text(f"one\n{canary.form(2)}\ntwo\n")
        (desk / canary.secret.encode().hex()).write_text("")
        self.desks[f"desk-{canary.number}"] = desk

    # What the model says.

    def _script(self, request: ChatRequest) -> Reply:
        canary = self.runs[int(request.model.rpartition("-")[2])].canary
        log.info("some library says that it was asked with %s", canary.secret)
        turn = sum(message["role"] == "assistant" for message in request.messages)
        if turn == 0:
            return self._opening(canary)
        if turn == 1:
            done = Call(tool="workflow_complete", arguments={"result": {"key": canary.form(10)}})
            return Answer(text=f"Done with {canary.form(11)}", calls=(done,))
        if canary.number % 2:
            return Refusal(
                status=400,
                message=f"the key {canary.form(12)} is odd",
                request_id=canary.secret.encode().hex(),
            )
        return Answer(calls=(Call(tool="workflow_complete", arguments={"result": {"done": True}}),))

    def _opening(self, canary: Canary) -> Answer:
        files: dict[str, dict[str, Json]] = {
            name: {"path": f"{name}.txt"} for name in ("leak", "old", "part", "new")
        }
        edits: Json = [{"old": "two", "new": "2"}]
        return Answer(
            text=f"My key is {canary.secret}, or {canary.form(3)}.",
            reasoning=f"Nobody must see {canary.form(4)}.",
            calls=(
                Call(tool="files_list", arguments={}),
                Call(tool="files_read", arguments=files["leak"]),
                Call(tool="files_write", arguments={**files["new"], "content": canary.form(5)}),
                Call(tool="files_write", arguments={**files["new"], canary.form(6): 1}),
                Call(tool="files_write", arguments={**files["old"], "content": "one\n1\n"}),
                Call(tool="files_patch", arguments={**files["part"], "edits": edits}),
                Call(tool="nothing", arguments={"x": [canary.form(7)]}),
                Call(tool="workflow_request_input", arguments=question("dirty", f"Is it {canary.form(8)}?")),
                Call(tool="workflow_request_input", arguments=question("clean", "For whom?")),
            ),
        )

    # What people do.

    def _start(self, run: Run) -> None:
        dirty = {"agent": run.agent, "action": "write", "input": {"note": run.canary.form(9)}}
        self._say(run, "invocations", dirty)
        started = self._say(run, "invocations", {**dirty, "input": {"note": "clean"}})
        run.invocation = started["id"]
        found = self.api.get(f"deliveries?text={started['delivery']}", self.bearer(run.tenant))
        [run.delivery] = [item["id"] for item in found.json()["items"]]

    def _decide(self, run: Run) -> None:
        for approval in self.pending(run, "approvals"):
            for body in self._decisions(run.canary, approval):
                self._say(run, f"approvals/{approval['id']}/decision", body)
        if run.canary.number % 8 == 7:
            body = {"reason": "COORDINATOR_STOP", "comment": f"it has {run.canary.form(16)}"}
            self._say(run, f"invocations/{run.invocation}/cancel", body)
        for asked in run.inputs:
            body = {"kind": "ANSWER", "content": f"for {run.canary.form(17)}"}
            self._say(run, f"inputs/{asked}/answer", body)

    def _decisions(self, canary: Canary, approval: Any) -> list[dict[str, Any]]:
        """Return what people try, one after the other; the last of it is a decision."""
        decision = DECISIONS[canary.number % len(DECISIONS)]
        body = {
            "decision": decision,
            "request_digest": approval["request_digest"],
            "reason": f"Because of {canary.form(13)}",
        }
        if decision == "respond":
            return [body | {"result": {"key": canary.form(14), canary.form(15): 1}}]
        if decision != "edit":
            return [body]
        if approval["tool"] == "files_write":
            return [body | {"arguments": {"path": "old.txt", "content": "another\n"}}]
        edits = [{"old": canary.form(18), "new": "x"}]
        return [body | {"arguments": {"path": "part.txt", "edits": edits}}, body | {"decision": "reject"}]

    def _end(self, run: Run) -> None:
        if run.canary.number % 10 == 0:
            retired = self._say(run, f"deliveries/{run.delivery}/retire", {"authorization": "all done"})
            run.tombstones = [retired["id"]] if "id" in retired else []

    def pending(self, run: Run, kind: str) -> list[Any]:
        found = self.api.get(f"{kind}?state=pending&invocation={run.invocation}", self.bearer(run.tenant))
        items: list[Any] = found.json()["items"]
        return items

    def status(self, run: Run) -> str:
        """Return how a run stands, nothing where it is retired."""
        answer = self.api.get(f"invocations/{run.invocation}", self.bearer(run.tenant))
        return str(answer.json()["status"]) if answer.status_code == 200 else ""

    def look(self) -> None:
        """Remember what waits for people."""
        for run in self.runs:
            run.approvals = [item["id"] for item in self.pending(run, "approvals")]
            run.inputs = [item["id"] for item in self.pending(run, "inputs")]

    def _say(self, run: Run, path: str, body: dict[str, Any]) -> Any:
        answer = self.api.post(path, body, self.bearer(run.tenant))
        self.answers.append(answer.content)
        return answer.json()

    def _drive(self) -> None:
        while waiting := work.claimable(50):
            for found in waiting:
                work.drive(UUID(str(found.invocation)), "test", Interruption())


def question(identity: str, prompt: str) -> dict[str, Any]:
    return {"requestIdentity": identity, "prompt": prompt, "responseSchema": {"type": "string"}}


class Lines(logging.Handler):
    """Keep what would be written to the log, at every level, through the console's own formatter."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(formatter)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def __iter__(self) -> Iterator[bytes]:
        return (json.dumps(line, ensure_ascii=False).encode() for line in self.lines)
