"""Versions of agents over the API: listed, withdrawn, and refused by a code of their own."""

from typing import Any

import pytest

from lifecycle_core.application import agents, permissions
from lifecycle_core.testing.answers import Refusal
from tests.console.api.conftest import AGENT, Api, World

pytestmark = pytest.mark.django_db

BODY = {"agent": "writer", "action": "write", "input": {"about": "x"}}


def withdraw(api: Api, body: object = {}, who: str = "admin", **headers: str) -> Any:
    return api.post("agents/writer/withdraw", body, who, **headers)


def code(response: Any) -> tuple[int, str]:
    return response.status_code, response.json().get("code", "")


def test_a_replaced_version_is_withdrawn_by_its_binding_and_the_current_one_starts(
    api: Api, world: World
) -> None:
    dispatch = api.post("dispatches", BODY, "host").json()
    [old] = api.get("agents/writer/versions").json()["items"]
    agents.apply(
        permissions.command_line("default"),
        AGENT.replace("You write.", "You write well.").format(base_url="http://127.0.0.1:9/v1"),
    )
    found = [(item["state"], item["running"]) for item in api.get("agents/writer/versions").json()["items"]]
    assert found == [("current", 0), ("replaced", 0)]
    answer = withdraw(api, {"binding": old["binding"], "reason": "It leaks."})
    assert answer.status_code == 200
    assert answer.json()["state"] == "withdrawn"
    [withdrawal] = answer.json()["withdrawals"]
    assert (withdrawal["by"], withdrawal["reason"], withdrawal["ended_at"]) == (
        "token:admin",
        "It leaks.",
        None,
    )
    assert code(api.post("invocations", {"dispatch": dispatch}, "host")) == (409, "AGENT_WITHDRAWN")
    assert api.post("invocations", BODY, "host").status_code == 202


def test_a_withdrawn_agent_is_shown_as_that_and_refused(api: Api, world: World) -> None:
    world.script.answers.append(Refusal(status=400))
    failed = world.start()
    assert withdraw(api).status_code == 200
    agent = api.get("agents/writer", "host").json()
    assert (agent["startable"], agent["withdrawn"]) == (False, True)
    assert code(api.post("invocations", BODY, "host")) == (409, "AGENT_WITHDRAWN")
    assert code(api.post("dispatches", BODY, "host")) == (409, "AGENT_WITHDRAWN")
    assert code(api.post(f"invocations/{failed}/retry", {}, "host")) == (409, "AGENT_WITHDRAWN")


def test_the_same_command_is_carried_out_once(api: Api, world: World) -> None:
    first = withdraw(api, {"reason": "a"}, Idempotency_Key="k")
    assert withdraw(api, {"reason": "a"}, Idempotency_Key="k").json() == first.json()
    assert code(withdraw(api, {"reason": "b"}, Idempotency_Key="k")) == (422, "IDEMPOTENCY_KEY_REUSED")


@pytest.mark.parametrize(
    "body", [{"binding": "x"}, {"binding": 7}, {"reason": None}, {"reason": "a\x00b"}, {"why": "x"}]
)
def test_a_wrong_body_is_pointed_at(api: Api, world: World, body: object) -> None:
    assert code(withdraw(api, body)) == (422, "SCHEMA_INVALID")
    assert api.get("agents/writer").json()["withdrawn"] is False


def test_what_is_not_there_is_not_withdrawn(api: Api, world: World) -> None:
    assert code(withdraw(api, {"binding": "sha256:" + "0" * 64})) == (404, "NOT_FOUND")
    assert code(api.post("agents/nobody/withdraw", {})) == (404, "NOT_FOUND")
    assert code(api.get("agents/nobody/versions")) == (404, "NOT_FOUND")
