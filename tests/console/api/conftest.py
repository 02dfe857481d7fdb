"""A console with one agent whose model says what a test tells it, and programs of every role that call the API."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from django.test import Client

from lifecycle_core.access import roles
from lifecycle_core.application import (
    agents,
    credentials,
    invocations,
    permissions,
    queries,
    tenants,
    tokens,
    work,
)
from lifecycle_core.contract.actor import Actor
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.testing.answers import Answer, Call, Reply
from lifecycle_core.testing.chat_requests import ChatRequest
from lifecycle_core.testing.model_server import ModelServer

AGENT: Final = """
[[agents]]
name = "writer"
provider = "chat-completions"
model = "scripted"
base_url = "{base_url}"
credential = "refs/model"
instructions = "You write."
capabilities = ["structured-completion", "action-interaction"]
tools = ["files"]
workspace = "desk"
access = [{{ mode = "read", path = "**" }}, {{ mode = "write", path = "notes/**" }}]

[[agents.actions]]
name = "write"
purpose = "Write a note."
result_schema = {{ type = "object" }}

[agents.actions.input_schema]
type = "object"
required = ["about"]
additionalProperties = false
properties = {{ about = {{ type = "string" }} }}
"""
ELSEWHERE: Final = "elsewhere"
STRANGER: Final = "stranger"  # a host that has started nothing
WRITE: Final = Call(tool="files_write", arguments={"path": "notes/a.md", "content": "Hello"})
ASK: Final = Call(
    tool="workflow_request_input",
    arguments={
        "requestIdentity": "who",
        "prompt": "For whom?",
        "responseSchema": {"type": "string", "minLength": 2},
    },
)
COMPLETE: Final = Call(tool="workflow_complete", arguments={"result": {"done": True}})


@dataclass
class Script:
    """What the model says next; with nothing left it completes."""

    answers: list[Reply] = field(default_factory=list)

    def __call__(self, request: ChatRequest) -> Reply:
        return self.answers.pop(0) if self.answers else Answer(calls=(COMPLETE,))


class Bearers(dict[str, str]):
    """The tokens of programs, made when one is needed: by role, by `role@tenant`, and the stranger's."""

    def __missing__(self, who: str) -> str:
        role, _, tenant = who.partition("@")
        admin = permissions.command_line(tenant or "default")
        self[who], _ = tokens.create(admin, name=role, roles=["host" if role == STRANGER else role])
        return self[who]

    def knows(self, who: str) -> bool:
        """Tell whether a word names a program; any other word is sent as a token."""
        return who.partition("@")[0] in {*roles.PERMISSIONS, STRANGER}


@dataclass
class Api:
    """Call the API as a program of some role; `role@tenant` is one of another tenant."""

    bearers: Bearers
    client: Client = field(default_factory=Client)

    def get(self, path: str, who: str | None = "owner", **headers: str) -> Any:
        return self.call("GET", path, who, headers=headers)

    def post(self, path: str, body: object, who: str | None = "owner", **headers: str) -> Any:
        return self.call("POST", path, who, json.dumps(body).encode(), headers=headers)

    def call(
        self,
        method: str,
        path: str,
        who: str | None = "owner",
        content: bytes = b"",
        headers: Mapping[str, str] = {},
        content_type: str = "application/json",
    ) -> Any:
        """Send a request as it is."""
        token = self.bearers[who] if who and self.bearers.knows(who) else who
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        return self.client.generic(
            method,
            f"/api/v1/{path}",
            content,
            content_type if content else "",
            headers={**bearer, **{name.replace("_", "-"): value for name, value in headers.items()}},
        )


@dataclass
class World:
    """Things that the API can be asked about. All belong to the host of the default tenant."""

    script: Script
    host: Actor
    folder: Path

    def start(self, *calls: Call, delivery: str | None = None) -> str:
        """Start an invocation whose model makes some calls, and drive it until it waits or has ended."""
        if calls:
            self.script.answers.append(Answer(calls=calls))
        item = invocations.start(
            self.host, agent="writer", action="write", input={"about": "x"}, delivery=delivery
        )
        self.drive(item.id)
        return item.id

    def drive(self, invocation: str) -> None:
        """Let a worker drive what can be driven."""
        for found in work.claimable(10):
            if str(found.invocation) == invocation:
                work.drive(found.invocation, "test", Interruption())

    def approval(self) -> Any:
        """Return a pending approval."""
        return queries.approvals(self.host, state="pending", invocation=UUID(self.start(WRITE))).items[0]

    def input(self) -> Any:
        """Return a pending input request."""
        return queries.inputs(self.host, state="pending", invocation=UUID(self.start(ASK))).items[0]


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    with ModelServer(Script(), secret="synthetic") as server:
        yield server


@pytest.fixture
def api(db: None) -> Api:
    tenants.add(ELSEWHERE)
    return Api(Bearers())


@pytest.fixture
def world(api: Api, model: ModelServer, tmp_path: Path, settings: Any) -> World:
    settings.LIFECYCLE_WORKSPACES = {"desk": tmp_path}
    admin = permissions.command_line("default")
    credentials.set(admin, ref="refs/model", secret="synthetic", bound=[model.base_url])
    agents.apply(admin, AGENT.format(base_url=model.base_url))
    model.script = script = Script()
    return World(script=script, host=tokens.actor_of(api.bearers["host"]), folder=tmp_path)
