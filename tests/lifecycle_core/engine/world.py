"""A whole core on the test database: the real store, engine and use cases; a model that follows a script, tools that tell what
they did, and a clock that stands still until a test moves it.
"""

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol
from uuid import UUID

import pytest
from django.conf import settings

from lifecycle_core.access import capabilities, roles
from lifecycle_core.application import (
    agents,
    approvals,
    bootstrap,
    hosting,
    inputs,
    invocations,
    queries,
    signals,
    steering,
    work,
)
from lifecycle_core.application.resources import ApprovalItem, EventItem, InputItem, InvocationItem
from lifecycle_core.contract import digests, errors, ports, stages
from lifecycle_core.contract.actor import Actor, Permission
from lifecycle_core.contract.agents import AgentDefinition
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.plugins import Plugin, Verdict
from lifecycle_core.contract.ports import EffectClass, Preparation, ToolContext
from lifecycle_core.contract.status import Status
from lifecycle_core.contract.subjects import ToolCall
from lifecycle_core.engine import result_schema
from lifecycle_core.engine.chain import Roster
from lifecycle_core.engine.control import Control
from lifecycle_core.engine.health import Health
from lifecycle_core.engine.host import Host
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.engine.services import Services, Timing
from lifecycle_core.journal.store import Store
from lifecycle_core.plugins.ask_gate import AskGate
from lifecycle_core.providers.in_process import InProcessProvider
from lifecycle_core.testing import answers as scripted
from lifecycle_core.testing.answers import Answer, Call, Reply
from lifecycle_core.testing.chat_requests import ChatRequest, Parsed
from lifecycle_core.tools.workflow import Workflow

TENANT: Final = "default"
SECRET: Final = "sk-correct-horse-battery"
NOW: Final = 1_900_000_000_000
ACTION: Final = "work"


def actor(*given: str, name: str = "user:ann", tenant: str = TENANT) -> Actor:
    """Return somebody with some roles."""
    return Actor(tenant=tenant, name=name, permissions=roles.permissions(given))


ANN: Final = actor("owner")
BOB: Final = actor("operator", name="user:bob")
HOST: Final = actor("host", name="token:ci")


class Killed(BaseException):
    """Stand for the sudden end of a worker: nothing in the product may catch it."""


@dataclass
class Clock:
    """Tell the time that the test says it is."""

    now: int = NOW
    passed: int = 0

    def now_ms(self) -> int:
        return self.now

    def monotonic_ms(self) -> int:
        return self.passed

    def advance(self, ms: int) -> None:
        self.now += ms
        self.passed += ms


class WatchedStore(Store):
    """The real store; a test may look at each change before and after it, and end a worker there."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.changes: list[ports.Change] = []
        self.before: Callable[[ports.Change], None] = lambda change: None
        self.after: Callable[[ports.Change], None] = lambda change: None

    def append(self, change: ports.Change) -> ports.Appended:
        self.before(change)
        appended = super().append(change)
        self.changes.append(change)
        self.after(change)
        return appended


@dataclass
class FakeTool:
    """Do nothing but remember it. `state` is what a call would change; `found` is what reconciliation finds, or the truth."""

    name: str
    effect_class: EffectClass
    act: Callable[[dict[str, Json], ToolContext], Json] = lambda arguments, context: {"done": arguments}
    check: Callable[[dict[str, Json]], None] = lambda arguments: None
    state: Json = "as it was"
    found: Literal["done", "not_done", "unknown", "truth"] = "unknown"
    ran: list[tuple[str, dict[str, Json]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    asked_with: list[dict[str, Json]] = field(default_factory=list)

    @property
    def spec(self) -> ports.ToolSpec:
        schema: dict[str, Json] = {
            "type": "object",
            "properties": {"to": {"type": "string"}, "n": {"type": "integer"}},
            "additionalProperties": False,
        }
        return ports.ToolSpec(
            name=self.name,
            family="fake",
            description="Pretend.",
            input_schema=schema,
            effect_class=self.effect_class,
            schema_digest=digests.digest(schema),
        )

    def prepare(self, arguments: dict[str, Json], context: ToolContext) -> Preparation:
        self.check(arguments)
        return Preparation(binding={"state": self.state}, preview={"kind": "text", "state": self.state})

    def run(self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext) -> Json:
        if preparation.binding["state"] != self.state:
            raise ports.BindingChanged("the state is another")
        self.ran.append((context.call, arguments))
        return self.act(arguments, context)

    def reconcile(
        self, arguments: dict[str, Json], preparation: Preparation, context: ToolContext
    ) -> Literal["done", "not_done", "unknown"]:
        self.asked.append(context.call)
        self.asked_with.append(dict(preparation.binding))
        if self.found == "truth":
            return "done" if any(call == context.call for call, _ in self.ran) else "not_done"
        return self.found

    def result_of(self, arguments: dict[str, Json], preparation: Preparation) -> Json:
        return {"found": arguments}

    @property
    def arguments(self) -> list[dict[str, Json]]:
        """Return the arguments of every run."""
        return [arguments for _, arguments in self.ran]


LOOK, COUNT, PUT, SEND = "look", "count", "put", "send"
BY_CLASS: Final = {
    EffectClass.READ_ONLY: LOOK,
    EffectClass.IDEMPOTENT: COUNT,
    EffectClass.RECONCILABLE: PUT,
    EffectClass.UNSAFE: SEND,
}


class Gate(Protocol):
    """Judge a tool call before it can reach anything."""

    @property
    def name(self) -> str: ...

    def judge(self, admission: ToolCall) -> Verdict: ...


def seated(gate: Gate) -> Plugin:
    """Return a gate of tool calls as a plugin."""
    return Plugin(name=gate.name, stage=stages.TOOL_ADMIT, kind="gate", act=gate.judge)


class AllowGate:
    """Let everything pass."""

    name = "allow-gate"

    def judge(self, admission: Any) -> Any:
        verdict = AskGate().judge(admission)
        return dataclasses.replace(verdict, outcome="allow", rule=self.name)


@dataclass
class Lease:
    """A credential lease that counts."""

    material: Mapping[str, str]
    released: int = 0

    def release(self) -> None:
        self.released += 1


def call(tool: str, id: str | None = None, **arguments: Json) -> Call:
    """Return a call that a scripted model makes."""
    return Call(tool=tool, arguments=arguments, id=id)


def calls(*made: Call, text: str = "") -> Answer:
    return Answer(text=text, calls=made)


def complete(result: Json = None) -> Answer:
    return calls(call("workflow_complete", result={"ok": True} if result is None else result))


def ask(identity: str = "q1", prompt: str = "Which?", schema: Json = None) -> Call:
    arguments: dict[str, Json] = {"requestIdentity": identity, "prompt": prompt}
    return Call(
        tool="workflow_request_input",
        arguments=arguments if schema is None else arguments | {"responseSchema": schema},
    )


type Step = Answer | Callable[[ChatRequest], Reply]


def toml(name: str, **changes: str) -> str:
    """Return the definition of an agent in which some lines are others."""
    lines = {
        "provider": '"chat-completions"',
        "model": '"m"',
        "base_url": '"http://127.0.0.1:1/v1"',
        "credential": '"refs/model"',
        "instructions": '"Work."',
        "capabilities": '["structured-completion", "action-interaction"]',
    } | changes
    head = "\n".join(f"{key} = {value}" for key, value in lines.items() if key != "result_schema")
    schema = changes.get("result_schema", '{ type = "object", required = ["ok"] }')
    return (
        f'[[agents]]\nname = "{name}"\n{head}\n\n[[agents.actions]]\nname = "{ACTION}"\npurpose = "Do it"\n'
        f'input_schema = {{ type = "object" }}\nresult_schema = {schema}\n'
    )


class World:
    """Everything of one core, and short words for what people, hosts and workers do in it."""

    def __init__(self, timing: Timing) -> None:
        self.clock = Clock()
        self.hints: list[int] = []
        self.store = WatchedStore(hint=self._hint)
        self.tools = {name: FakeTool(name, effect_class) for effect_class, name in BY_CLASS.items()}
        self.gates: list[Gate] = [AskGate()]
        self.plugins: list[Plugin] = []
        self.scripts: dict[str, Sequence[Step]] = {}
        self.seen: list[list[bytes]] = []
        self.providers: dict[str, ports.Provider] = {
            "chat-completions": InProcessProvider(self._respond),
        }
        self.leases: list[Lease] = []
        self.known: list[Lease] = []
        self.lease_fails = False
        self.workspaces = {"desk"}
        self.services = Services(
            journal=self.store,
            clock=self.clock,
            agent=agents.version,
            has_provider=lambda key: key in self.providers,
            provider=self._provider,
            lease=self._lease,
            known_secret=self._known_secret,
            tools=lambda agent: self.tools,
            workspaces=capabilities.Authority(lambda: settings.LIFECYCLE_KEYS, lambda: self.workspaces),
            context=self._context,
            workflow=Workflow(result_schema.check_form),
            roster=lambda agent: Roster([*map(seated, self.gates), *self.plugins]),
            health=Health(),
            timing=timing,
        )
        self._numbers = iter(range(1, 10_000))

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of the parts that a process puts together."""
        host, control = Host(self.services), Control(self.store, self.clock)
        patch.setattr(bootstrap, "services", lambda: self.services)
        patch.setattr(bootstrap, "journal", lambda: self.store)
        patch.setattr(bootstrap, "clock", lambda: self.clock)
        patch.setattr(hosting, "host", lambda: host)
        patch.setattr(steering, "control", lambda: control)
        self.apply("worker")

    # What the engine is given.

    def _hint(self, tenant: str, position: int) -> None:
        self.hints.append(position)
        signals.journal_advanced.send(sender=None, tenant=tenant, position=position)

    def _provider(self, key: str) -> ports.Provider:
        if key not in self.providers:
            raise errors.ProviderNotImplemented
        return self.providers[key]

    def _lease(self, tenant: str, agent: AgentDefinition) -> Lease:
        if self.lease_fails:
            raise errors.CredentialAcquisitionFailed
        self.leases.append(Lease({"secret": SECRET}))
        return self.leases[-1]

    def _known_secret(self, tenant: str, agent: AgentDefinition) -> Lease:
        self.known.append(Lease({"secret": SECRET}))
        return self.known[-1]

    def _context(
        self, workspace: str, access: Any, call: str, interrupted: Callable[[], bool]
    ) -> ToolContext:
        return ToolContext(call=call, access=access, interrupted=interrupted)

    def _respond(self, model: str, messages: Sequence[bytes]) -> ports.ModelAnswer:
        self.seen.append(list(messages))
        return scripted.in_process(self._script)(model, messages)

    def _script(self, request: ChatRequest) -> Reply:
        episode = request._episode()
        said = sum(message["role"] == "assistant" for message in episode)
        steps = self.scripts[request.input["script"]]
        step = steps[min(said, len(steps) - 1)]
        return step if isinstance(step, Answer) else step(request)

    # What people and programs do.

    def apply(self, name: str, **changes: str) -> None:
        agents.apply(ANN, toml(name, **changes))

    def start(self, *steps: Step, agent: str = "worker", by: Actor = ANN, **given: Any) -> UUID:
        """Start an invocation whose model says these things, one after the other."""
        name = f"script-{next(self._numbers)}"
        self.scripts[name] = steps
        value = {"script": name, **given.pop("input", {})}
        return UUID(invocations.start(by, agent=agent, action=ACTION, input=value, **given).id)

    def drive(self, invocation: UUID, worker: str = "w1", interruption: Interruption | None = None) -> str:
        """Let a worker take an invocation as far as it goes; returns its status."""
        work.drive(invocation, worker, interruption or Interruption())
        return self.status(invocation)

    def run(self, *steps: Step, **given: Any) -> UUID:
        """Start an invocation and drive it."""
        started = self.start(*steps, **given)
        self.drive(started)
        return started

    def settle(self, limit: int = 50) -> None:
        """Drive whatever a worker can drive until nothing is left."""
        for _ in range(limit):
            waiting = work.claimable(50)
            if not waiting:
                return
            for found in waiting:
                self.drive(found.invocation)
        raise AssertionError("there is always something left to do")

    def die(self) -> None:
        """Let so much time pass that every lease is void."""
        self.clock.advance(self.services.timing.lease_ms + 1)

    def kill(self, invocation: UUID, worker: str = "w1") -> None:
        """Drive an invocation into the end of its worker, and let its lease run out."""
        with pytest.raises(Killed):
            self.drive(invocation, worker)
        self.die()

    def decide(
        self, approval: ApprovalItem, decision: Any = "approve", by: Actor = ANN, **given: Any
    ) -> ApprovalItem:
        given.setdefault("request_digest", approval.request_digest)
        return approvals.decide(by, UUID(approval.id), decision=decision, **given)

    def answer(self, asked: InputItem, content: Json, by: Actor = ANN, **given: Any) -> InputItem:
        return inputs.answer(by, UUID(asked.id), content=content, **given)

    # What is to be seen.

    def item(self, invocation: UUID) -> InvocationItem:
        return queries.invocation(ANN, invocation)

    def status(self, invocation: UUID) -> str:
        return self.item(invocation).status

    def disposition(self, invocation: UUID) -> dict[str, Any]:
        return dict(self.item(invocation).disposition or {})

    def events(self, invocation: UUID) -> list[EventItem]:
        return list(queries.events(ANN, invocation, limit=1000).items)

    def kinds(self, invocation: UUID) -> list[str]:
        return [event.kind for event in self.events(invocation)]

    def of_kind(self, invocation: UUID, kind: str) -> list[Mapping[str, Any]]:
        return [event.payload for event in self.events(invocation) if event.kind == kind]

    def approvals(self, invocation: UUID, state: str | None = "pending") -> list[ApprovalItem]:
        """Return the approvals of an invocation in the order in which the calls were made."""
        found = queries.approvals(ANN, invocation=invocation, state=state, limit=200).items
        order = [payload["approval"] for payload in self.of_kind(invocation, "approval.requested")]
        return sorted(found, key=lambda item: order.index(item.id))

    def approval(self, invocation: UUID) -> ApprovalItem:
        [only] = self.approvals(invocation)
        return only

    def inputs(self, invocation: UUID, state: str | None = "pending") -> list[InputItem]:
        return list(queries.inputs(ANN, invocation=invocation, state=state).items)

    def input(self, invocation: UUID) -> InputItem:
        [only] = self.inputs(invocation)
        return only

    def results(self, invocation: UUID) -> dict[str, tuple[str, Json]]:
        """Return the outcome and content of every settled call, by the id that the model gave it."""
        settled = self.of_kind(invocation, "tool.completed")
        assert len({payload["call"] for payload in settled}) == len(settled), "a call has two results"
        return {payload["call_id"]: (payload["outcome"], payload["content"]) for payload in settled}

    def last_results(self) -> dict[str, str]:
        """Return what the model was told of its calls, when it was asked last."""
        request = ChatRequest(model="m", messages=[*Parsed(self.seen[-1])])
        return {
            message["tool_call_id"]: message["content"]
            for message in request.messages
            if message["role"] == "tool"
        }


class Pauses(Interruption):
    """Let no time pass but on the world's clock; what happens meanwhile is a step for each wait."""

    def __init__(self, world: "World", *steps: Callable[[], object]) -> None:
        super().__init__()
        self._world = world
        self._steps = list(steps)
        self.waited: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        self._world.clock.advance(round(seconds * 1000))
        if self._steps:
            self._steps.pop(0)()
        return self()


def assert_paired(messages: Sequence[bytes]) -> None:
    """Check that every call in a chat has exactly one result, right after the answer that made it."""
    said = [*Parsed(messages)]
    made = [call["id"] for message in said for call in message.get("tool_calls", ())]
    told = [message["tool_call_id"] for message in said if message["role"] == "tool"]
    assert made == told


# Native sessions, for what no chat would do.

type Act = Callable[["NativeSession", ports.TurnInput, ports.Carrier], None]


@dataclass
class NativeSession:
    """A session that does what the test says."""

    opaque_identity: str
    act: Act
    cancelled: threading.Event = field(default_factory=threading.Event)
    disposed: int = 0
    secret: str = ""

    def run(self, turn: ports.TurnInput, carrier: ports.Carrier, material: Mapping[str, str]) -> None:
        self.secret = material["secret"]
        self.act(self, turn, carrier)

    def cancel(self) -> None:
        self.cancelled.set()

    def dispose(self) -> None:
        self.disposed += 1


@dataclass
class NativeProvider:
    """Open and restore sessions that act as the test says, and remember both."""

    acts: Sequence[Act]
    key: str = "chat-completions"
    opened: list[NativeSession] = field(default_factory=list)
    restored: list[NativeSession] = field(default_factory=list)
    come_back_as: str = ""

    def open(self, request: ports.SessionRequest) -> NativeSession:
        self.opened.append(NativeSession(f"native-{len(self.opened) + 1}", self._next()))
        return self.opened[-1]

    def restore(self, request: ports.SessionRequest) -> NativeSession:
        session = NativeSession(self.come_back_as or request.opaque_identity, self._next())
        self.restored.append(session)
        return session

    def _next(self) -> Act:
        return self.acts[min(len(self.opened) + len(self.restored), len(self.acts) - 1)]

    def dispose(self) -> None:
        """Hold nothing."""


def emitting(*happened: ports.NativeEvent) -> Act:
    """Return how a session runs that reports some events and ends."""

    def act(session: NativeSession, turn: ports.TurnInput, carrier: ports.Carrier) -> None:
        for event in happened:
            carrier.emit(event)

    return act


EVERYTHING: Final = frozenset(Permission)
RUNNING, AWAITING = Status.RUNNING.value, Status.AWAITING_INPUT.value
