"""What the benches run on: an agent with a credential, a person, and the engine over the real journal."""

import dataclasses
from typing import Final
from uuid import UUID

from lifecycle_core.application import agents, bootstrap, credentials, invocations, permissions
from lifecycle_core.application.bench import model
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.ports import Provider
from lifecycle_core.engine import advance
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.engine.services import Services

TENANT: Final = "default"
ACTION: Final = "count"
WORKER: Final = "bench"
AGENT: Final = """
[[agents]]
name = "bench"
provider = "chat-completions"
model = "scripted"
base_url = "{base_url}"
credential = "refs/bench"
instructions = "Call the tool that you are given as often as you are told to, then complete."
capabilities = ["structured-completion"]
limits = {{ model_turns = {turns}, tool_calls = {turns}, tokens = 1000000000, seconds = 3600 }}

[[agents.actions]]
name = "count"
purpose = "Call a tool many times."
input_schema = {{ type = "object", properties = {{ calls = {{ type = "integer" }} }} }}
result_schema = {{ type = "object", required = ["calls"], properties = {{ calls = {{ type = "integer" }} }} }}
"""


class Stage:
    """Start and drive invocations of the bench's agent; everything but its model and its tools is the console's own."""

    def __init__(self, base_url: str, secret: str, most_calls: int) -> None:
        self.actor: Actor = permissions.command_line(TENANT)
        credentials.set(self.actor, ref="refs/bench", secret=secret, bound=[base_url])
        agents.apply(self.actor, AGENT.format(base_url=base_url, turns=most_calls + 1))

    def start(self, calls: int) -> UUID:
        """Admit an invocation."""
        started = invocations.start(self.actor, agent="bench", action=ACTION, input={"calls": calls})
        return UUID(started.id)

    def drive(self, services: Services, invocation: UUID) -> None:
        """Take an invocation as far as it goes, as a worker does."""
        advance.advance(services, invocation, worker=WORKER, interruption=Interruption())


def services(provider: Provider | None = None) -> Services:
    """Return the engine's parts with the bench's tools, and a provider in the place of the console's."""
    own = dataclasses.replace(bootstrap.services(), tools=lambda agent: model.TOOLS)
    return own if provider is None else dataclasses.replace(own, provider=lambda key: provider)
