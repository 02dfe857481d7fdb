"""Agents are registered from TOML, all or none; a changed one is a new version, and what runs keeps its own."""

from typing import Any, Final

import pytest

from lifecycle_core.access.models import AgentVersion
from lifecycle_core.application import agents, invocations, permissions, queries
from lifecycle_core.contract import errors
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import World, ask, calls, complete

pytestmark = pytest.mark.django_db

FULL: Final = """
[[agents]]
name = "release-notes"
provider = "chat-completions"
model = "deepseek-chat"
base_url = "http://127.0.0.1:9000/v1"
credential = "refs/model"
instructions = "You write release notes."
capabilities = ["structured-completion", "action-interaction"]
tools = ["files", "http_request"]
extensions = []
workspace = "demo"
access = [{ mode = "read", path = "**" }, { mode = "write", path = "notes/**" }]
session = { scope = "data-bound", source = "customer", isolation = "shared" }
limits = { model_turns = 4, tool_calls = 20, tokens = 2000, seconds = 36 }

[[agents.actions]]
name = "write-notes"
purpose = "Write notes for one version"
input_schema = { type = "object", required = ["version"], properties = { version = { type = "string" } } }
result_schema = { type = "object", required = ["path"], properties = { path = { type = "string" } } }
"""


def test_a_whole_definition_is_registered_and_shown(world: World) -> None:
    [item] = agents.apply(w.ANN, FULL)
    shown = queries.agent(w.ANN, "release-notes")
    assert (shown.binding, shown.model, shown.workspace) == (item.binding, "deepseek-chat", "demo")
    assert shown.tools == ("files", "http_request")
    assert shown.limits == {"model_turns": 4, "tool_calls": 20, "tokens": 2000, "seconds": 36}
    assert shown.access[1] == {"mode": "write", "path": "notes/**"}
    [action] = shown.actions
    assert action.name == "write-notes"
    assert [agent.name for agent in queries.agents(w.ANN)] == ["release-notes", "worker"]


def test_who_may_start_sees_that_he_may(world: World) -> None:
    assert queries.agent(w.HOST, "worker").startable
    assert not queries.agent(w.BOB, "worker").startable


BROKEN: Final[dict[str, str]] = {
    "no TOML": "[[agents]\nname",
    "a date": FULL.replace('purpose = "Write notes for one version"', "purpose = 2026-01-01"),
    "nan": FULL.replace("tokens = 2000", "tokens = nan"),
    "an integer beyond 2^53": FULL.replace("tokens = 2000", "tokens = 9007199254740993"),
    "nested without end": "a = " + "[" * 5000 + "]" * 5000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_text_that_is_no_toml_of_exact_values_is_refused(world: World, text: str) -> None:
    before = AgentVersion.objects.count()
    with pytest.raises(errors.ConfigurationInvalid):
        agents.apply(w.ANN, text)
    assert AgentVersion.objects.count() == before


WRONG: Final[dict[str, tuple[str, str]]] = {
    "nothing": ("", ""),
    "no agents": ("agents = []", "/agents"),
    "unknown field": (FULL.replace("extensions = []", 'colour = "red"'), "/agents/0/colour"),
    "unknown field of an action": (FULL + "timeout = 3\n", "/agents/0/actions/0/timeout"),
    "unknown top": ("x = 1\n" + FULL, "/x"),
    "missing model": (FULL.replace('model = "deepseek-chat"\n', ""), "/agents/0"),
    "empty model": (FULL.replace('"deepseek-chat"', '""'), "/agents/0/model"),
    "unknown provider": (FULL.replace('"chat-completions"', '"other"'), "/agents/0/provider"),
    "unknown tool": (FULL.replace('"http_request"]', '"bash"]'), "/agents/0/tools/1"),
    "unknown capability": (FULL.replace('"action-interaction"]', '"root"]'), "/agents/0/capabilities/1"),
    "no capability": (
        FULL.replace('["structured-completion", "action-interaction"]', "[]"),
        "/agents/0/capabilities",
    ),
    "a name with a space": (FULL.replace('"release-notes"', '"release notes"'), "/agents/0/name"),
    "a file as an address": (
        FULL.replace('"http://127.0.0.1:9000/v1"', '"file:///etc"'),
        "/agents/0/base_url",
    ),
    "a secret for a reference": (FULL.replace('"refs/model"', '"sk-123"'), "/agents/0/credential"),
    "a path for a workspace": (
        FULL.replace('workspace = "demo"', 'workspace = "/etc"'),
        "/agents/0/workspace",
    ),
    "an unknown mode": (FULL.replace('mode = "write"', 'mode = "run"'), "/agents/0/access/1/mode"),
    "no limit": (FULL.replace("tokens = 2000", "tokens = 0"), "/agents/0/limits/tokens"),
    "a limit as text": (FULL.replace("tokens = 2000", 'tokens = "2000"'), "/agents/0/limits/tokens"),
    "an extension": (FULL.replace("extensions = []", 'extensions = ["x"]'), "/agents/0/extensions"),
    "a schema with references": (
        FULL.replace('input_schema = { type = "object"', 'input_schema = { "$ref" = "#", type = "object"'),
        "/agents/0/actions/0/input_schema/$ref",
    ),
    "twice the same agent": (FULL + FULL, "/agents/1/name"),
}


@pytest.mark.parametrize(("text", "pointer"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_definition_is_refused_with_the_place(world: World, text: str, pointer: str) -> None:
    before = list(AgentVersion.objects.order_by("pk").values())
    with pytest.raises(errors.SchemaInvalid) as refused:
        agents.apply(w.ANN, text)
    pointers = [problem.pointer for problem in refused.value.problems]
    assert any(found.startswith(pointer) for found in pointers), pointers
    assert list(AgentVersion.objects.order_by("pk").values()) == before


def test_twice_the_same_action_is_refused(world: World) -> None:
    action = FULL[FULL.index("[[agents.actions]]") :]
    with pytest.raises(errors.SchemaInvalid) as refused:
        agents.apply(w.ANN, FULL + action)
    assert [problem.pointer for problem in refused.value.problems] == ["/agents/0/actions/1/name"]


def test_one_wrong_agent_keeps_all_from_being_registered(world: World) -> None:
    wrong = FULL.replace('"release-notes"', '"second"').replace('"http_request"]', '"bash"]')
    with pytest.raises(errors.SchemaInvalid):
        agents.apply(w.ANN, FULL + wrong)
    assert [agent.name for agent in queries.agents(w.ANN)] == ["worker"]


def test_the_same_definition_is_the_same_version_and_the_order_of_lines_is_none(world: World) -> None:
    [first] = agents.apply(w.ANN, FULL)
    provider, model = 'provider = "chat-completions"', 'model = "deepseek-chat"'
    lines = FULL.replace(f"{provider}\n{model}", f"{model}\n{provider}")
    assert lines != FULL
    [again] = agents.apply(w.ANN, lines)
    assert again.binding == first.binding
    assert AgentVersion.objects.filter(name="release-notes").count() == 1


def test_a_changed_definition_is_a_new_version_and_the_old_one_can_come_back(world: World) -> None:
    [first] = agents.apply(w.ANN, FULL)
    [second] = agents.apply(w.ANN, FULL.replace("You write", "You always write"))
    assert second.binding != first.binding
    assert queries.agent(w.ANN, "release-notes").binding == second.binding
    agents.apply(w.ANN, FULL)
    assert queries.agent(w.ANN, "release-notes").binding == first.binding
    current = AgentVersion.objects.filter(name="release-notes", current=True)
    assert [row.binding for row in current] == [first.binding]


def test_what_runs_keeps_the_version_that_it_was_started_with(world: World) -> None:
    old = world.run(calls(ask()), complete({"ok": 1}))
    world.apply("worker", result_schema='{ type = "object", required = ["other"] }', instructions='"New."')
    new = world.run(complete({"ok": 1}))
    world.answer(world.input(old), "blue")
    world.settle()
    assert (world.status(old), world.status(new)) == ("completed", "invalid")
    first, second = world.store.load(old), world.store.load(new)
    assert first.agent_binding != second.agent_binding
    dispatches: list[Any] = [first.dispatch, second.dispatch]
    executors = {dispatch["executor"]["bindingIdentity"] for dispatch in dispatches}
    assert len(executors) == 2


def test_an_unknown_agent_or_action_starts_nothing(world: World) -> None:
    for agent, action in (("nobody", w.ACTION), ("worker", "nothing")):
        with pytest.raises(errors.NotFound):
            invocations.start(w.ANN, agent=agent, action=action, input={})
    assert list(queries.invocations(w.ANN).items) == []


@pytest.mark.parametrize("value", [None, "text", 7, []])
def test_an_input_that_does_not_fit_starts_nothing(world: World, value: Any) -> None:
    with pytest.raises(errors.SchemaInvalid):
        invocations.start(w.ANN, agent="worker", action=w.ACTION, input=value)
    assert list(queries.invocations(w.ANN).items) == []


@pytest.mark.parametrize("value", [{"n": float("nan")}, {"n": 2**53}, {"n": "\ud800"}])
def test_an_input_that_is_no_exact_json_starts_nothing(world: World, value: Any) -> None:
    with pytest.raises(errors.NotCanonical):
        invocations.start(w.ANN, agent="worker", action=w.ACTION, input=value)
    assert list(queries.invocations(w.ANN).items) == []


@pytest.mark.parametrize("identity", ["", "  ", "x" * 201, "a\nb", "a\x00b", "a\u202eb"])
def test_a_delivery_has_a_name_that_people_can_read(world: World, identity: str) -> None:
    with pytest.raises(errors.SchemaInvalid):
        world.start(complete(), delivery=identity)
    assert list(queries.deliveries(w.ANN).items) == []


def test_a_delivery_of_another_agent_is_another_triple(world: World) -> None:
    world.apply("other")
    world.start(complete(), delivery="d1")
    with pytest.raises(errors.DeliveryConflict):
        world.start(complete(), agent="other", delivery="d1")
    assert len(queries.invocations(w.ANN).items) == 1


def test_a_tenant_that_is_not_there_is_named(world: World) -> None:
    with pytest.raises(errors.ConfigurationInvalid, match="nowhere"):
        agents.apply(permissions.command_line("nowhere"), FULL)
