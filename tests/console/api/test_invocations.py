"""Invocations over REST: start, read, cancel."""

import re
from typing import Any

from lifecycle_core.contract import digests
from lifecycle_core.journal.models import Invocation
from tests.console.api.conftest import ASK, WRITE, Api, World

BODY = {"agent": "writer", "action": "write", "input": {"about": "x"}}
FIELDS = {
    "id",
    "status",
    "agent",
    "action",
    "provider",
    "model",
    "delivery",
    "attempt",
    "parent",
    "open_requests",
    "disposition",
    "created_at",
    "updated_at",
}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_a_start_is_accepted_before_anything_has_run(api: Api, world: World) -> None:
    response = api.post("invocations", {**BODY, "delivery": "release 7"}, "host")
    assert response.status_code == 202
    item = response.json()
    assert item["status"] == "starting"
    assert item["delivery"] == "release 7"
    assert set(item) >= FIELDS
    assert api.get(f"invocations/{item['id']}").json() == item


def test_times_are_utc_with_milliseconds(api: Api, world: World) -> None:
    item = api.post("invocations", BODY, "host").json()
    assert TIME.fullmatch(item["created_at"])
    events = api.get(f"invocations/{item['id']}/events").json()["items"]
    assert all(TIME.fullmatch(event["at"]) for event in events)


def test_the_same_key_and_body_start_once(api: Api, world: World) -> None:
    first = api.post("invocations", BODY, "host", Idempotency_Key="k-1")
    again = api.post("invocations", BODY, "host", Idempotency_Key="k-1")
    assert first.json()["id"] == again.json()["id"]
    assert Invocation.objects.count() == 1


def test_the_same_key_with_another_body_is_refused(api: Api, world: World) -> None:
    api.post("invocations", BODY, "host", Idempotency_Key="k-1")
    other = api.post("invocations", {**BODY, "input": {"about": "y"}}, "host", Idempotency_Key="k-1")
    assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert Invocation.objects.count() == 1


def test_a_key_belongs_to_who_sent_it(api: Api, world: World) -> None:
    first = api.post("invocations", BODY, "host", Idempotency_Key="k-1").json()
    second = api.post("invocations", BODY, "owner", Idempotency_Key="k-1").json()
    assert first["id"] != second["id"]


def test_a_known_delivery_takes_another_invocation(api: Api, world: World) -> None:
    first = api.post("invocations", {**BODY, "delivery": "release 7"}, "host").json()
    second = api.post("invocations", {**BODY, "delivery": "release 7"}, "host").json()
    assert first["delivery_id"] == second["delivery_id"]
    assert len(api.get("deliveries/release 7").json()["invocations"]) == 2


def test_an_invocation_that_waits_names_what_it_waits_for(api: Api, world: World) -> None:
    item = api.get(f"invocations/{world.start(WRITE)}").json()
    assert item["status"] == "awaiting-input"
    assert [request["kind"] for request in item["open_requests"]] == ["approval"]
    assert item["disposition"]["kind"] == "awaiting-input"


def test_a_disposition_says_how_it_ended(api: Api, world: World) -> None:
    invocation = world.start()
    shown = api.get(f"invocations/{invocation}/disposition").json()
    ended = {"kind": "completed", "result": {"done": True}, "interactionReceipts": []}
    assert shown == {"id": invocation, "status": "completed", **ended}


def test_there_is_no_disposition_before_the_first_turn(api: Api, world: World) -> None:
    invocation = api.post("invocations", BODY, "host").json()["id"]
    shown = api.get(f"invocations/{invocation}/disposition").json()
    assert shown == {"id": invocation, "status": "starting", "kind": None}


def test_the_journal_can_be_read_in_pages(api: Api, world: World) -> None:
    invocation = world.start()
    whole = api.get(f"invocations/{invocation}/events").json()["items"]
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    assert set(whole[0]) >= {"seq", "position", "kind", "at", "actor", "payload", "hash"}
    pages: list[Any] = []
    after = "0"
    while after is not None:
        page = api.get(f"invocations/{invocation}/events?limit=3&after={after}").json()
        pages += page["items"]
        after = page["next"]
    assert pages == whole


def test_the_journal_can_be_filtered_by_kind(api: Api, world: World) -> None:
    invocation = world.start()
    found = api.get(f"invocations/{invocation}/events?kind=invocation.completed").json()["items"]
    assert [event["kind"] for event in found] == ["invocation.completed"]


def test_the_transcript_tells_what_was_said(api: Api, world: World) -> None:
    kinds = [entry["kind"] for entry in api.get(f"invocations/{world.start(ASK)}/transcript").json()["items"]]
    assert kinds[0] == "input"
    assert "asked" in kinds


def test_the_dispatch_has_the_shape_of_the_contract(api: Api, world: World) -> None:
    dispatch = api.get(f"invocations/{world.start()}/dispatch").json()
    assert set(dispatch) >= {"episode", "plan", "action", "executor", "input", "workspace", "session"}


def test_lists_go_from_page_to_page_without_loss(api: Api, world: World) -> None:
    started = {api.post("invocations", BODY, "host").json()["id"] for _ in range(5)}
    found: list[str] = []
    cursor = ""
    while True:
        page = api.get(f"invocations?limit=2{cursor}").json()
        found += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert sorted(found) == sorted(started)


def test_a_list_can_be_filtered_by_status(api: Api, world: World) -> None:
    waiting, done = world.start(WRITE), world.start()
    by_status = {
        status: [item["id"] for item in api.get(f"invocations?status={status}").json()["items"]]
        for status in ("awaiting-input", "completed", "failed")
    }
    assert by_status == {"awaiting-input": [waiting], "completed": [done], "failed": []}


def test_cancelling_closes_what_was_asked(api: Api, world: World) -> None:
    approval = world.approval()
    item = api.post(
        f"invocations/{approval.invocation}/cancel", {"reason": "TIMEOUT", "comment": "late"}, "operator"
    )
    assert item.json()["status"] == "cancelled"
    assert item.json()["open_requests"] == []
    assert api.get(f"approvals/{approval.id}").json()["state"] == "cancelled"


def test_a_cancel_may_come_without_a_body(api: Api, world: World) -> None:
    response = api.call("POST", f"invocations/{world.start(WRITE)}/cancel", "operator")
    assert response.json()["status"] == "cancelled"


def response(content: object, **changes: str) -> dict[str, object]:
    given = {"kind": "ANSWER", "requestIdentity": "who", "contentIdentity": digests.digest(content)}
    return {**given, "content": content, **changes}


def test_a_host_continues_with_a_complete_response(api: Api, world: World) -> None:
    invocation = world.input().invocation
    episode = api.get(f"invocations/{invocation}/dispatch").json()["episode"]
    body = {"episode": episode, "response": response("Customers")}
    answered = api.post(f"invocations/{invocation}/continue", body, "operator")
    assert (answered.status_code, answered.json()["status"]) == (200, "awaiting-input")
    world.drive(invocation)
    [receipt] = api.get(f"invocations/{invocation}/disposition").json()["interactionReceipts"]
    assert (receipt["requestIdentity"], receipt["responseIdentity"]) == ("who", digests.digest("Customers"))
    [question] = api.get(f"inputs?invocation={invocation}").json()["items"]
    assert question["receipt"] == receipt


def test_a_response_that_is_wrong_burns_and_one_to_something_else_does_not(api: Api, world: World) -> None:
    invocation = world.input().invocation
    episode = api.get(f"invocations/{invocation}/dispatch").json()["episode"]
    path = f"invocations/{invocation}/continue"
    stale = api.post(path, {"episode": episode, "response": response("X", requestIdentity="q0")}, "operator")
    assert (stale.status_code, stale.json()["code"]) == (409, "CORRELATION_MISMATCH")
    assert api.get(f"invocations/{invocation}").json()["status"] == "awaiting-input"
    burnt = api.post(path, {"episode": episode, "response": response("X")}, "operator").json()
    assert burnt["status"] == "invalid"
    assert burnt["disposition"]["code"] == "INTERACTION_CORRELATION_INVALID"


def test_a_response_of_another_form_is_refused_before_it_counts(api: Api, world: World) -> None:
    invocation = world.input().invocation
    for wrong in ({"kind": "MAYBE"}, {"extra": "x"}, {"contentIdentity": ""}):
        body = {"episode": {}, "response": response("Customers", **wrong)}
        assert api.post(f"invocations/{invocation}/continue", body, "operator").status_code == 422
    assert api.get(f"invocations/{invocation}").json()["status"] == "awaiting-input"
