"""The demo: people of every role, a folder of real files, agents that want to work on them, and a model that plays them.

Everything is kept in the data folder, so that a demo that is started again goes on: the same people and passwords, the same
ports of the scripted model and of the endpoint that one agent posts to, and whatever waited still waits.
"""

import contextlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from lifecycle_core.access import roles
from lifecycle_core.application import (
    agents,
    bootstrap,
    credentials,
    invocations,
    members,
    permissions,
    tenants,
    tokens,
)
from lifecycle_core.contract.digests import Json
from lifecycle_core.testing import scenarios
from lifecycle_core.testing.http_sink import HttpSink
from lifecycle_core.testing.model_server import ModelServer

TENANT: Final = "default"
WORKSPACE: Final = "demo"
REF: Final = "refs/model"
STATE: Final = "demo.json"


@dataclass(frozen=True, kw_only=True)
class RealModel:
    """A model to run the demo's agents on, instead of the scripted one."""

    base_url: str
    model: str
    key: str


@dataclass(kw_only=True)
class State:
    """What a demo remembers of itself: who can sign in, where its own servers listen, whether its agents have begun."""

    model_port: int = 0
    endpoint_port: int = 0
    begun: bool = False
    password: str = ""
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def users(self) -> dict[str, dict[str, str]]:
        """Return who can sign in, by role."""
        return {role: {"username": role, "password": self.password} for role in roles.PERMISSIONS}

    @classmethod
    def of(cls, data: Path) -> "State":
        """Read what an earlier start has left in the data folder."""
        path = data / STATE
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, data: Path) -> None:
        """Keep it for the next start, readable by the owner alone; the old one stays until the new one is whole."""
        beside = data / f".{STATE}.new"
        beside.touch(mode=0o600)
        beside.write_text(json.dumps(asdict(self), indent=1))
        beside.replace(data / STATE)


@contextlib.contextmanager
def running(data: Path, real: RealModel | None = None) -> Iterator[State]:
    """Set the demo up where it is not, and run the servers that its agents talk to."""
    state = State.of(data)
    secret = secrets.token_urlsafe(24)
    model = ModelServer(scenarios.script, secret=secret, port=state.model_port, pace=0.03)
    with HttpSink(port=state.endpoint_port) as endpoint, model:
        _people(state, data)
        scripted = RealModel(base_url=model.base_url, model="", key=secret)
        # The harness speaks another format than chats, which the scripted server knows too and a real one may not.
        harness = real is None and bootstrap.implemented("dsh-headless")
        _agents(endpoint, real or scripted, harness=harness)
        state.model_port, state.endpoint_port = _port(model.origin), _port(endpoint.origin)
        state.save(data)
        if not state.begun:
            _begin(endpoint)
            state.begun = True
            state.save(data)
        yield state


def files(folder: Path) -> None:
    """Lay out the workspace where it is not yet, all of it or nothing."""
    if folder.exists():
        return
    beside = folder.with_name(f".{folder.name}.new")
    for name, content in scenarios.demo_files().items():
        path = beside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    beside.rename(folder)


def endpoint_origin(data: Path) -> str:
    """Return where the demo's agent may post to, once the demo has run."""
    return f"http://127.0.0.1:{State.of(data).endpoint_port}"


def _port(origin: str) -> int:
    return int(origin.rpartition(":")[2])


def _people(state: State, data: Path) -> None:
    """Make one person and one token for every role; all of the people share one password."""
    actor = permissions.command_line(TENANT)
    state.password = state.password or secrets.token_urlsafe(12)
    state.save(data)
    if TENANT not in tenants.slugs():
        tenants.add(TENANT)
    missing = {role: [role] for role in roles.PERMISSIONS if not members.exists(role)}
    if missing:
        members.add_people(actor, missing, password=state.password)
    for role in roles.PERMISSIONS:
        if role not in state.tokens:
            state.tokens[role], _ = tokens.create(actor, name=f"demo-{role}", roles=[role])
    state.save(data)


def _agents(endpoint: HttpSink, model: RealModel, *, harness: bool) -> None:
    actor = permissions.command_line(TENANT)
    credentials.set(actor, ref=REF, secret=model.key, bound=[model.base_url])
    text = scenarios.agents_toml(
        base_url=model.base_url,
        endpoint_origin=endpoint.origin,
        model=model.model,
        credential=REF,
        harness=harness,
    )
    agents.apply(actor, text)


def _begin(endpoint: HttpSink) -> None:
    """Start one action of each agent, as the demo's host; each once, also when this is interrupted and begins again."""
    actor = replace(permissions.command_line(TENANT), name="user:host")
    for agent, action, value in _work(endpoint):
        delivery = f"{agent}-1"
        invocations.start(actor, agent=agent, action=action, input=value, delivery=delivery, key=delivery)


def _work(endpoint: HttpSink) -> list[tuple[str, str, Json]]:
    return [
        ("dependency-review", "review", {"focus": "everything"}),
        ("release-notes", "write-notes", {"version": "2.4.0"}),
        ("customer-notice", "draft", {"topic": "Planned maintenance"}),
        ("status-post", "announce", {"url": endpoint.url}),
    ]
