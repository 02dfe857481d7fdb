"""The demo's agents at work: their scripts, the real file tools in a real folder, and people who decide."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifecycle_core.contract import agents, ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.invocation import AccessRule
from lifecycle_core.providers.in_process import InProcessProvider
from lifecycle_core.testing import answers, scenarios
from lifecycle_core.testing.carriers import MemoryCarrier
from lifecycle_core.tools import catalogue

ORIGIN = "http://127.0.0.1:9100"


def definitions() -> dict[str, agents.AgentDefinition]:
    text = scenarios.agents_toml(base_url="http://127.0.0.1:9000/v1", endpoint_origin=ORIGIN)
    read = [agents.AgentDefinition.of(table) for table in tomllib.loads(text)["agents"]]
    return {agent.name: agent for agent in read}


class Work:
    """One invocation of one of the demo's agents."""

    def __init__(self, agent: str, action: str, input: Json, root: Path) -> None:
        self.agent = definitions()[agent]
        self.action = self.agent.actions[action]
        self.root = root
        self.provider = InProcessProvider(answers.in_process(scenarios.script))
        route = ports.ModelRoute(model=self.agent.model, base_url="", configuration={})
        self.request = ports.SessionRequest(
            affinity="", instructions=self.agent.instructions, opaque_identity="", route=route, tools=()
        )
        self.carrier = MemoryCarrier({name: self.tool(name) for name in ("files_list", "files_read")})
        self.session = self.provider.open(self.request)
        self._run(ports.Begin(purpose=self.action.purpose, input=input))

    def tool(self, name: str) -> Callable[[dict[str, Json]], Json]:
        tool = catalogue.find(name)
        assert tool is not None
        context = ports.ToolContext(call="call", root=self.root, access=self._access())

        def act(arguments: dict[str, Json]) -> Json:
            return tool.run(arguments, tool.prepare(arguments, context), context)

        return act

    def _access(self) -> tuple[AccessRule, ...]:
        return self.agent.access

    def _run(self, turn: ports.TurnInput) -> None:
        try:
            self.session.run(turn, self.carrier, {})
        except (ports.TurnSuspended, ports.TurnInterrupted):
            return

    def waiting(self, tool: str) -> list[ports.ProposedCall]:
        return [call for call in self.carrier.waiting.values() if call.tool == tool]

    def arguments(self, tool: str) -> dict[str, Any]:
        """Return the arguments of the one call of a tool that waits."""
        (call,) = self.waiting(tool)
        assert call.arguments is not None
        return call.arguments

    def settle(self, call: ports.ProposedCall, content: Json) -> None:
        """Give a waiting call its result, and go on when it was the last one."""
        self.carrier.settle(call.call_id, content)
        if not self.carrier.waiting:
            self._run(self.carrier.resume())

    def answer(self, content: Json) -> None:
        self.settle(self.waiting("workflow_request_input")[0], {"kind": "ANSWER", "content": content})

    def approve(self, call: ports.ProposedCall, **edited: Json) -> None:
        """Let a waiting call run, with other arguments where some are given."""
        assert call.arguments is not None
        self.settle(call, self.tool(call.tool)({**call.arguments, **edited}))

    def reject(self, call: ports.ProposedCall, reason: str) -> None:
        told: Json = {"error": "REJECTED", "detail": "A person refused this call.", "reason": reason}
        self.settle(call, told)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name, content in scenarios.demo_files().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path
