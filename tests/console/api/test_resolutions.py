"""Unknown invocations, sessions and leases over REST."""

from typing import Any

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.tools import files
from tests.console.api.conftest import Api, World


@pytest.fixture
def unknown(api: Api, world: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let an approved write be lost on its way."""

    def lost(*given: Any) -> Any:
        raise ports.OutcomeUnknown("the disk is gone")

    approval = world.approval()
    body = {"decision": "approve", "request_digest": approval.request_digest}
    assert api.post(f"approvals/{approval.id}/decision", body).status_code == 200
    with monkeypatch.context() as broken:
        broken.setattr(files.FilesWrite, "run", lost)
        world.drive(approval.invocation)
    assert api.get(f"invocations/{approval.invocation}").json()["status"] == "unknown"
    return str(approval.invocation)


def test_a_coordinator_sees_what_is_open_and_says_what_happened(api: Api, world: World, unknown: str) -> None:
    [intent] = api.get(f"invocations/{unknown}/open-intents", "coordinator").json()["items"]
    assert (intent["tool"], intent["effect_class"]) == ("files_write", "reconcilable")
    found = {"call": intent["call"], "finding": "happened", "result": {"written": True}}
    body = {"outcome": "continue", "reason": "I looked", "calls": [found]}
    response = api.post(f"invocations/{unknown}/resolve", body, "coordinator")
    assert (response.status_code, response.json()["status"]) == (200, "running")
    world.drive(unknown)
    assert api.get(f"invocations/{unknown}").json()["status"] == "completed"
    again = api.post(f"invocations/{unknown}/resolve", body, "coordinator")
    assert (again.status_code, again.json()["code"]) == (409, "STATUS_CONFLICT")


@pytest.mark.parametrize(
    ("finding", "pointer"),
    [
        ({"finding": "happened"}, "/calls/0/result"),
        ({"finding": "did-not-happen"}, "/calls/0/then"),
        ({"finding": "did-not-happen", "then": "perhaps"}, "/calls/0/then"),
        ({"finding": "happened", "result": 1, "then": "run"}, "/calls/0/then"),
        ({"finding": "perhaps"}, "/calls/0/finding"),
    ],
)
def test_a_finding_that_says_nothing_is_pointed_at(
    api: Api, unknown: str, finding: dict[str, Any], pointer: str
) -> None:
    body = {"outcome": "continue", "reason": "I looked", "calls": [{"call": "c", **finding}]}
    response = api.post(f"invocations/{unknown}/resolve", body, "coordinator")
    assert response.status_code == 422
    assert pointer in str(response.json())
    assert api.get(f"invocations/{unknown}").json()["status"] == "unknown"


def test_the_session_of_an_invocation_says_who_has_it(api: Api, world: World, unknown: str) -> None:
    [affinity] = api.get("affinities").json()["items"]
    assert affinity == api.get(f"affinities/{affinity['id']}").json()
    assert (affinity["holder"], affinity["held"], affinity["generation"]) == (unknown, True, 1)
    [member] = affinity["invocations"]
    assert (member["id"], member["status"], member["waits"]) == (unknown, "unknown", False)
    assert api.get("affinities?shared=true").json()["items"] == []


def test_leases_are_those_of_turns_that_run(api: Api, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    read = files.FilesWrite.prepare

    def look(self: Any, *given: Any) -> Any:
        seen.extend(api.get("leases").json()["items"])
        return read(self, *given)

    monkeypatch.setattr(files.FilesWrite, "prepare", look)
    approval = world.approval()
    [lease] = seen
    assert (lease["invocation"], lease["worker"], lease["token"]) == (approval.invocation, "test", 1)
    assert lease["since"] < lease["expires_at"]
    assert api.get("leases").json()["items"] == []
