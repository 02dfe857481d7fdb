"""Hosts that bring a complete dispatch: composed here or put together by themselves, and refused in every other form."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lifecycle_core.application import agents, invocations, permissions, queries
from lifecycle_core.contract import digests, errors, identities
from lifecycle_core.engine import composing, dispatches
from lifecycle_core.journal.models import Delivery, Invocation, Session
from lifecycle_core.providers.dsh import release
from lifecycle_core.testing.answers import Answer, Call
from lifecycle_core.testing.model_server import ModelServer
from tests.console.api.conftest import AGENT, ELSEWHERE, Api, World

BODY = {"agent": "writer", "action": "write", "input": {"about": "x"}, "delivery": "release 7"}
OTHER = "sha256:" + "0" * 64


def composed(api: Api, **changes: Any) -> Any:
    response = api.post("dispatches", BODY | changes, "host")
    assert response.status_code == 200
    return response.json()


def start(api: Api, dispatch: Any, who: str = "host", **headers: str) -> Any:
    return api.post("invocations", {"dispatch": dispatch}, who, **headers)


def bound(dispatch: dict[str, Any]) -> dict[str, Any]:
    """Compute every derived identity anew, as somebody would who wants to pass."""
    d = copy.deepcopy(dispatch)
    executor, session = d["executor"], d["session"]
    compatibility = identities.session_compatibility(executor["session"])
    executor["sessionCompatibilityIdentity"] = session["sessionCompatibilityIdentity"] = compatibility
    executor["bindingIdentity"] = identities.executor_binding(executor["session"], executor["turn"])
    d["plan"]["bindingIdentity"] = identities.plan_binding(
        d["episode"]["site"], d["action"], executor["bindingIdentity"]
    )
    session["scopeValueIdentity"] = composing.scope_value(
        executor["session"], d["input"], dispatches.read_episode(d["episode"])
    )
    session["delivery"] = d["episode"]["thread"]["delivery"]
    session["identity"] = identities.affinity_identity(
        session["delivery"]["deliveryIdentity"],
        compatibility,
        session["scopeValueIdentity"],
        session["isolation"],
    )
    return d


def test_composing_stores_nothing_and_what_was_composed_starts_once(api: Api, world: World) -> None:
    dispatch = composed(api)
    assert not Delivery.objects.exists()
    first = start(api, dispatch)
    assert first.status_code == 202
    item = first.json()
    assert (item["agent"], item["action"], item["delivery"]) == ("writer", "write", "release 7")
    assert api.get(f"invocations/{item['id']}/dispatch").json() == dispatch
    again = start(api, dispatch)
    assert (again.status_code, again.json()["code"]) == (409, "CORRELATION_MISMATCH")
    assert Invocation.objects.count() == 1


def test_a_started_dispatch_runs_to_its_end(api: Api, world: World) -> None:
    item = start(api, composed(api)).json()
    world.drive(item["id"])
    assert api.get(f"invocations/{item['id']}").json()["status"] == "completed"


def test_the_same_command_gets_the_same_answer(api: Api, world: World) -> None:
    dispatch = composed(api)
    first = start(api, dispatch, Idempotency_Key="k1")
    assert start(api, dispatch, Idempotency_Key="k1").json() == first.json()
    assert start(api, composed(api), Idempotency_Key="k1").status_code == 422


def test_a_host_puts_its_own_episode_together(api: Api, world: World) -> None:
    dispatch = composed(api)
    episode = dispatch["episode"]
    episode["site"] = {"kind": "parallel-branch", "nodeIdentity": "n", "branchIdentity": "left"}
    episode["invocationIdentity"], episode["attemptIdentity"] = "mine.1", "mine.1.1"
    body = {"agent": "writer", "episode": episode}
    dispatch["workspace"] = api.post("workspaces/desk/capabilities", body, "host").json()
    started = start(api, bound(dispatch))
    assert started.status_code == 202, started.json()
    world.drive(started.json()["id"])
    assert api.get(f"invocations/{started.json()['id']}").json()["status"] == "completed"


def test_a_host_may_give_less_than_the_agent_has_and_the_call_meets_that(api: Api, world: World) -> None:
    dispatch = composed(api)
    less = [{"mode": "write", "path": "notes/**"}]
    dispatch["executor"]["turn"]["access"] = less
    body = {"agent": "writer", "episode": dispatch["episode"], "access": less}
    dispatch["workspace"] = api.post("workspaces/desk/capabilities", body, "host").json()
    (world.folder / "secret.txt").write_text("x")
    world.script.answers.append(world_answer(Call(tool="files_read", arguments={"path": "secret.txt"})))
    item = start(api, bound(dispatch)).json()
    world.drive(item["id"])
    events = api.get(f"invocations/{item['id']}/events?kind=tool.completed").json()["items"]
    assert "OUTSIDE" in str(events[0]["payload"]["content"])


def world_answer(*calls: Call) -> Answer:
    return Answer(calls=calls)


def attack(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(dispatch: dict[str, Any]) -> None:
        *way, last = path.split(".")
        place: Any = dispatch
        for name in way:
            place = place[name]
        place[last] = value

    return change


WIDER: list[Any] = [{"mode": "read", "path": "**"}, {"mode": "write", "path": "**"}]


def widen(dispatch: dict[str, Any]) -> None:
    dispatch["executor"]["turn"]["access"] = WIDER
    dispatch["workspace"]["handle"]["accessDigest"] = identities.access_digest(WIDER)


def another_episode(dispatch: dict[str, Any]) -> None:
    dispatch["episode"]["attemptIdentity"] = "attempt.other"
    dispatch["workspace"]["handle"]["episode"]["attemptIdentity"] = "attempt.other"


FORGED: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (attack("workspace.handle.capability.signature", "AAAA"), "CAPABILITY_MISMATCH"),
    (attack("workspace.handle.capability.signature", "no base64"), "CAPABILITY_MISMATCH"),
    (attack("workspace.handle.capability.signature", "é"), "CAPABILITY_MISMATCH"),
    (attack("workspace.handle.capability.key", "0" * 16), "CAPABILITY_MISMATCH"),
    (attack("workspace.handle.capability.nonce", "0"), "CAPABILITY_MISMATCH"),
    (attack("workspace.handle.capability.issuedAt", 1), "CAPABILITY_MISMATCH"),
    (attack("workspace.handle.savepoint", "other"), "CAPABILITY_MISMATCH"),
    (attack("workspace.handle.handleIdentity", "handle-other"), "CAPABILITY_MISMATCH"),
    (lambda d: d["workspace"]["handle"].pop("capability"), "CAPABILITY_MISMATCH"),
    (another_episode, "CAPABILITY_MISMATCH"),
    (widen, "CAPABILITY_MISMATCH"),
    (attack("executor.session.model.providerModelIdentity", "other"), "MODEL_BINDING_MISMATCH"),
    (attack("executor.session.driver.providerIdentity", "codex-cli"), "MODEL_BINDING_MISMATCH"),
    (
        attack(
            "executor.session.driver.configuration", {"credentialRef": "refs/model", "baseURL": "http://evil"}
        ),
        "MODEL_BINDING_MISMATCH",
    ),
    (attack("executor.session.instructions.contentIdentity", OTHER), "EXECUTOR_BINDING_MISMATCH"),
    (attack("executor.session.agent.contentIdentity", OTHER), "EXECUTOR_BINDING_MISMATCH"),
    (attack("executor.session.tools", []), "EXECUTOR_BINDING_MISMATCH"),
    (attack("executor.session.roleIdentity", "role.other"), "EXECUTOR_BINDING_MISMATCH"),
    (attack("action.purpose", "Delete everything."), "EXECUTOR_BINDING_MISMATCH"),
    (attack("action.resultSchema", {}), "EXECUTOR_BINDING_MISMATCH"),
]


@pytest.mark.parametrize(("change", "code"), FORGED)
def test_what_the_console_did_not_give_is_refused_and_nothing_is_stored(
    api: Api, world: World, model: ModelServer, change: Callable[[dict[str, Any]], None], code: str
) -> None:
    dispatch = composed(api)
    change(dispatch)
    model.received.clear()
    response = start(api, bound(dispatch))
    assert response.json()["code"] == code
    assert not Invocation.objects.exists()
    assert not Delivery.objects.exists()
    assert not Session.objects.exists()
    assert not model.received


def leaves(value: Any, *way: str | int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Return every scalar of a value and the way to it."""
    if isinstance(value, dict | list):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(member, *way, name)
    else:
        yield way, value


def another(value: Any) -> Any:
    """Return another value of the same form."""
    if isinstance(value, str):
        words = {"node": "parallel-join", "isolated": "shared", "read": "write", "write": "read"}
        return OTHER if value.startswith("sha256:") else words.get(value, f"{value}x")
    return not value if isinstance(value, bool) else 7


def test_no_part_of_a_dispatch_is_free_but_its_input(api: Api, world: World) -> None:
    """Also where somebody computes all digests anew: what is not derived from the rest is sealed or registered."""
    given = composed(api)
    # Another kind of scope has other members, too: that is a matter of the shape.
    parts = [part for part in leaves(given) if part[0][0] != "input" and part[0][-2:] != ("scope", "kind")]
    assert len(parts) > 80
    for way, value in parts:
        changed = copy.deepcopy(given)
        place: Any = changed
        for name in way[:-1]:
            place = place[name]
        place[way[-1]] = another(value)
        anew = bound(changed)
        with pytest.raises(errors.Refused):
            invocations.start_dispatch(world.host, dispatch=changed if anew == given else anew)
    assert not Invocation.objects.exists()
    changed = {**copy.deepcopy(given), "input": {"about": "something else"}}
    assert start(api, changed).status_code == 202


@pytest.mark.parametrize("provider", ["copilot-sdk", "codex-cli", "dsh-headless", "remote-agent"])
def test_a_provider_that_is_not_here_refuses_the_start_and_is_listed_as_such(
    api: Api, world: World, model: ModelServer, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "is_installed", lambda: False)
    shell = AGENT.format(base_url=model.base_url).replace("chat-completions", provider)
    agents.apply(permissions.command_line("default"), shell)
    model.received.clear()
    brought = start(api, composed(api))
    named = api.post("invocations", BODY, "host")
    assert {brought.json()["code"], named.json()["code"]} == {"PROVIDER_NOT_IMPLEMENTED"}
    assert not Invocation.objects.exists()
    assert not Delivery.objects.exists()
    assert not model.received
    listed = {item["key"]: item["implemented"] for item in api.get("providers").json()["items"]}
    assert (listed["chat-completions"], listed.get(provider, False)) == (True, False)


def test_another_value_than_the_session_is_bound_to_is_refused(api: Api, world: World) -> None:
    dispatch = bound(composed(api))
    session = dispatch["session"]
    session["scopeValueIdentity"] = OTHER
    session["identity"] = identities.affinity_identity(
        "release 7", session["sessionCompatibilityIdentity"], OTHER, session["isolation"]
    )
    response = start(api, dispatch)
    assert (response.status_code, response.json()["code"]) == (409, "SESSION_AFFINITY_MISMATCH")


def test_a_capability_of_another_tenant_opens_nothing(api: Api, world: World) -> None:
    base_url = queries.agent(world.host, "writer").base_url
    agents.apply(permissions.command_line(ELSEWHERE), AGENT.format(base_url=base_url))
    dispatch = composed(api)
    response = start(api, dispatch, f"host@{ELSEWHERE}")
    assert response.json()["code"] == "CAPABILITY_MISMATCH"
    assert not Invocation.objects.exists()


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (attack("plan", None), "/dispatch/plan"),
        (attack("plan.bindingIdentity", "sha256:short"), "/dispatch/plan/bindingIdentity"),
        (attack("episode.site.kind", "planet"), "/dispatch/episode/site/kind"),
        (attack("episode.site.branchIdentity", "b"), "/dispatch/episode/site/branchIdentity"),
        (attack("episode.attemptIdentity", ""), "/dispatch/episode/attemptIdentity"),
        (
            attack("executor.turn.access", [{"mode": "run", "path": "x"}]),
            "/dispatch/executor/turn/access/0/mode",
        ),
        (attack("workspace.kind", "none"), "/dispatch/workspace"),
        (attack("more", 1), "/dispatch/more"),
    ],
)
def test_a_value_of_another_shape_is_pointed_at(
    api: Api, world: World, change: Callable[[dict[str, Any]], None], pointer: str
) -> None:
    dispatch = composed(api)
    change(dispatch)
    response = start(api, dispatch)
    assert (response.status_code, response.json()["code"]) == (422, "SCHEMA_INVALID")
    assert pointer in [problem["pointer"] for problem in response.json()["errors"]]


def test_a_start_names_an_action_or_brings_a_dispatch_and_not_both(api: Api, world: World) -> None:
    both = api.post("invocations", {**BODY, "dispatch": composed(api)}, "host")
    pointers = {problem["pointer"] for problem in both.json()["errors"]}
    assert (both.status_code, pointers) == (422, {"/agent", "/action", "/input", "/delivery"})
    neither = api.post("invocations", {}, "host")
    pointers = {problem["pointer"] for problem in neither.json()["errors"]}
    assert (neither.status_code, pointers) == (422, {"/agent", "/action", "/input"})


def test_a_capability_for_more_than_the_agent_has_is_not_given(api: Api, world: World) -> None:
    body = {"agent": "writer", "episode": composed(api)["episode"], "access": WIDER}
    response = api.post("workspaces/desk/capabilities", body, "host")
    assert response.json()["code"] == "CAPABILITY_MISMATCH"
    response = api.post("workspaces/elsewhere/capabilities", body, "host")
    assert response.status_code == 404


def test_a_workspace_that_is_no_longer_registered_lets_no_call_act(
    api: Api, world: World, settings: Any
) -> None:
    item = api.post("invocations", BODY, "host").json()
    settings.LIFECYCLE_WORKSPACES = {}
    world.script.answers.append(world_answer(Call(tool="files_list", arguments={"path": "."})))
    world.drive(item["id"])
    events = api.get(f"invocations/{item['id']}/events?kind=tool.completed").json()["items"]
    assert events[0]["payload"]["content"]["error"] == "CAPABILITY_MISMATCH"
    refused = api.post("invocations", BODY | {"delivery": "other"}, "host")
    assert refused.json()["code"] == "CONFIGURATION_INVALID"


# Retry.


def failed(api: Api, world: World) -> str:
    world.script.answers.append(world_answer())
    item = api.post("invocations", BODY, "host").json()
    world.drive(item["id"])
    assert api.get(f"invocations/{item['id']}").json()["status"] == "failed"
    return str(item["id"])


def test_a_retry_is_the_next_attempt_at_the_same_invocation(api: Api, world: World) -> None:
    first = failed(api, world)
    response = api.post(f"invocations/{first}/retry", {}, "host")
    assert response.status_code == 202
    item = response.json()
    assert (item["attempt"], item["parent"], item["delivery"]) == (2, first, "release 7")
    old, new = (api.get(f"invocations/{one}/dispatch").json() for one in (first, item["id"]))
    assert new["episode"]["invocationIdentity"] == old["episode"]["invocationIdentity"]
    assert new["episode"]["attemptIdentity"] != old["episode"]["attemptIdentity"]
    assert digests.digest(new["executor"]) == digests.digest(old["executor"])
    world.drive(item["id"])
    assert api.get(f"invocations/{item['id']}").json()["status"] == "completed"


def test_only_the_latest_attempt_is_retried_and_only_once(api: Api, world: World) -> None:
    first = failed(api, world)
    second = api.post(f"invocations/{first}/retry", {}, "host", Idempotency_Key="k")
    assert second.status_code == 202
    assert api.post(f"invocations/{first}/retry", {}, "host", Idempotency_Key="k").status_code == 202
    again = api.post(f"invocations/{first}/retry", {}, "host")
    assert (again.status_code, again.json()["code"]) == (409, "RETRY_REFUSED")
    assert again.json()["following"] == second.json()["id"]
    assert Invocation.objects.count() == 2


def test_an_attempt_that_a_host_has_named_follows_and_is_followed(api: Api, world: World) -> None:
    first = failed(api, world)
    dispatch = api.get(f"invocations/{first}/dispatch").json()
    dispatch["episode"]["attemptIdentity"] = "zwei"
    body = {"agent": "writer", "episode": dispatch["episode"]}
    dispatch["workspace"] = api.post("workspaces/desk/capabilities", body, "host").json()
    world.script.answers.append(world_answer())
    named = start(api, bound(dispatch)).json()
    assert (named["attempt"], named["parent"]) == (2, first)
    refused = api.post(f"invocations/{first}/retry", {}, "host").json()
    assert (refused["code"], refused["following"]) == ("RETRY_REFUSED", named["id"])
    world.drive(named["id"])
    again = api.post(f"invocations/{named['id']}/retry", {}, "host").json()
    assert (again["attempt"], again["parent"]) == (3, named["id"])


def test_what_would_never_succeed_or_has_not_ended_is_not_retried(api: Api, world: World) -> None:
    for invocation in (
        world.start(Call(tool="files_list", arguments={"path": "."})),
        world.approval().invocation,
    ):
        response = api.post(f"invocations/{invocation}/retry", {}, "host")
        assert (response.status_code, response.json()["code"]) == (409, "RETRY_REFUSED")
    hopeless = failed(api, world)
    Invocation.objects.filter(pk=hopeless).update(
        disposition='{"code":"BUDGET_EXHAUSTED","detail":"","kind":"failed","retry":"never"}'
    )
    response = api.post(f"invocations/{hopeless}/retry", {}, "host")
    assert (response.status_code, response.json()["code"]) == (409, "RETRY_REFUSED")
