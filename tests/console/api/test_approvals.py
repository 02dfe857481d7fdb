"""Approvals over REST: what is shown is what is decided is what runs, once."""

from typing import Any

import pytest

from tests.console.api.conftest import WRITE, Api, World

FIELDS = {
    "id",
    "state",
    "invocation",
    "delivery",
    "agent",
    "tool",
    "effect_class",
    "call_id",
    "arguments",
    "display",
    "request_digest",
    "rule",
    "risk",
    "requested_at",
    "expires_at",
    "claimed_by",
    "decisions",
    "result",
}


def decide(api: Api, approval: Any, decision: str, who: str = "operator", **more: object) -> Any:
    body = {"decision": decision, "request_digest": approval.request_digest, **more}
    return api.post(f"approvals/{approval.id}/decision", body, who)


def test_an_approval_shows_everything_that_is_decided_on(api: Api, world: World) -> None:
    shown = api.get(f"approvals/{world.approval().id}").json()
    assert set(shown) >= FIELDS
    assert shown["arguments"] == WRITE.arguments
    assert shown["state"] == "pending"
    assert shown["preview"]["path"] == "notes/a.md"


def test_an_approved_call_runs_exactly_once(api: Api, world: World) -> None:
    approval = world.approval()
    assert decide(api, approval, "approve").json()["state"] == "approved"
    world.drive(approval.invocation)
    world.drive(approval.invocation)
    assert (world.folder / "notes/a.md").read_text() == "Hello"
    shown = api.get(f"approvals/{approval.id}").json()
    assert shown["result"]["outcome"] == "executed"
    kinds = [event["kind"] for event in api.get(f"invocations/{approval.invocation}/events").json()["items"]]
    assert kinds.count("tool.intended") == 1


def test_a_rejected_call_never_runs(api: Api, world: World) -> None:
    approval = world.approval()
    shown = decide(api, approval, "reject", reason="Not today").json()
    assert shown["state"] == "rejected"
    assert [(d["by"], d["decision"], d["reason"]) for d in shown["decisions"]] == [
        ("token:operator", "reject", "Not today")
    ]
    world.drive(approval.invocation)
    assert not (world.folder / "notes").exists()


def test_an_edited_call_runs_as_edited(api: Api, world: World) -> None:
    approval = world.approval()
    edited = {"path": "notes/b.md", "content": "Edited"}
    assert decide(api, approval, "edit", arguments=edited).json()["state"] == "edited"
    world.drive(approval.invocation)
    assert (world.folder / "notes/b.md").read_text() == "Edited"
    assert not (world.folder / "notes/a.md").exists()
    shown = api.get(f"approvals/{approval.id}").json()
    assert (shown["arguments"], shown["proposed"]) == (edited, WRITE.arguments)


@pytest.mark.parametrize("result", [{"written": True}, None, [], "done", 0])
def test_a_response_stands_in_for_the_tool(api: Api, world: World, result: object) -> None:
    approval = world.approval()
    assert decide(api, approval, "respond", result=result).json()["state"] == "responded"
    world.drive(approval.invocation)
    assert not (world.folder / "notes").exists()
    assert api.get(f"invocations/{approval.invocation}").json()["status"] == "completed"


def test_the_same_person_repeating_a_decision_gets_the_same_answer(api: Api, world: World) -> None:
    approval = world.approval()
    first, again = decide(api, approval, "approve"), decide(api, approval, "approve")
    assert first.status_code == again.status_code == 200
    assert first.json()["decisions"] == again.json()["decisions"]


@pytest.mark.parametrize(
    ("decision", "who"), [("reject", "operator"), ("approve", "owner"), ("reject", "owner")]
)
def test_who_comes_second_learns_who_was_first(api: Api, world: World, decision: str, who: str) -> None:
    approval = world.approval()
    made = decide(api, approval, "approve").json()["decisions"][0]
    response = decide(api, approval, decision, who)
    assert (response.status_code, response.json()["code"]) == (409, "ALREADY_DECIDED")
    expected = {"by": "token:operator", "at": made["at"], "decision": "approved"}
    assert response.json()["decided"] == expected


def test_the_same_key_decides_once_and_another_body_is_refused(api: Api, world: World) -> None:
    approval = world.approval()
    body = {"decision": "approve", "request_digest": approval.request_digest}
    path = f"approvals/{approval.id}/decision"
    first = api.post(path, body, "operator", Idempotency_Key="d-1")
    assert api.post(path, body, "operator", Idempotency_Key="d-1").content == first.content
    other = api.post(path, {**body, "decision": "reject"}, "operator", Idempotency_Key="d-1")
    assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_a_decision_after_the_end_is_refused(api: Api, world: World) -> None:
    approval = world.approval()
    api.post(f"invocations/{approval.invocation}/cancel", {})
    response = decide(api, approval, "approve")
    assert (response.status_code, response.json()["decided"]["decision"]) == (409, "cancelled")


def test_approvals_can_be_filtered(api: Api, world: World) -> None:
    open_one, decided = world.approval(), world.approval()
    decide(api, decided, "reject")
    for query, expected in {
        "state=pending": [open_one.id],
        "state=rejected": [decided.id],
        f"invocation={decided.invocation}": [decided.id],
        "tool=files_write&agent=writer&state=pending": [open_one.id],
        "tool=http_request": [],
    }.items():
        assert [item["id"] for item in api.get(f"approvals?{query}").json()["items"]] == expected


def test_reading_never_decides(api: Api, world: World) -> None:
    approval = world.approval()
    for method in ("GET", "HEAD", "OPTIONS"):
        for path in (f"approvals/{approval.id}", f"approvals/{approval.id}/decision?decision=approve"):
            api.call(method, path, "operator")
    assert api.get(f"approvals/{approval.id}").json()["state"] == "pending"
