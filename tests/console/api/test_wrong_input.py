"""Wrong input has a stable code, changes nothing and is never our fault."""

import json
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

import pytest
from django.conf import settings

from console.errors import MEDIA_TYPE
from lifecycle_core.contract.digests import Json
from lifecycle_core.journal.models import Event, Invocation
from tests.console.api.conftest import Api, World

ZERO: Final = "sha256:" + "0" * 64
type Case = tuple[Callable[[str], Any], int, str]

MALFORMED: Final = {
    "nothing": (b"", 422, "SCHEMA_INVALID"),
    "half an object": (b'{"decision": "approve"', 400, "NOT_CANONICAL"),
    "no JSON": (b"decision=approve", 400, "NOT_CANONICAL"),
    "no UTF-8": (b'{"decision": "\xff"}', 400, "NOT_CANONICAL"),
    "a key twice": (b'{"decision": "reject", "decision": "approve"}', 400, "NOT_CANONICAL"),
    "NaN": (b'{"decision": NaN}', 400, "NOT_CANONICAL"),
    "Infinity": (b'{"decision": -Infinity}', 400, "NOT_CANONICAL"),
    "an overflow": (b'{"decision": 1e400}', 400, "NOT_CANONICAL"),
    "a number that is not exact": (b'{"decision": 9007199254740993}', 400, "NOT_CANONICAL"),
    "a huge number": (b'{"decision": ' + b"9" * 5000 + b"}", 400, "NOT_CANONICAL"),
    "half a character": (b'{"decision": "\\ud800"}', 400, "NOT_CANONICAL"),
    "too deep": (b'{"decision": ' + b"[" * 80 + b"]" * 80 + b"}", 400, "NOT_CANONICAL"),
    "far too deep": (b"[" * 100_000, 400, "NOT_CANONICAL"),
    "a list": (b"[]", 422, "SCHEMA_INVALID"),
    "a text": (b'"approve"', 422, "SCHEMA_INVALID"),
    "null": (b"null", 422, "SCHEMA_INVALID"),
}

DECISIONS: Final[dict[str, Case]] = {
    "no decision": (lambda d: {"request_digest": d}, 422, "SCHEMA_INVALID"),
    "no digest": (lambda d: {"decision": "approve"}, 422, "SCHEMA_INVALID"),
    "an unknown field": (
        lambda d: {"decision": "approve", "request_digest": d, "x": 1},
        422,
        "SCHEMA_INVALID",
    ),
    "approved as a text": (
        lambda d: {"decision": "approve", "request_digest": d, "approved": "false"},
        422,
        "SCHEMA_INVALID",
    ),
    "approved as a number": (lambda d: {"approved": 1, "request_digest": d}, 422, "SCHEMA_INVALID"),
    "a decision as a boolean": (lambda d: {"decision": True, "request_digest": d}, 422, "SCHEMA_INVALID"),
    "a decision as a number": (lambda d: {"decision": 1, "request_digest": d}, 422, "SCHEMA_INVALID"),
    "another case": (lambda d: {"decision": "Approve", "request_digest": d}, 422, "SCHEMA_INVALID"),
    "a space": (lambda d: {"decision": "approve ", "request_digest": d}, 422, "SCHEMA_INVALID"),
    "a list of decisions": (lambda d: {"decision": ["approve"], "request_digest": d}, 422, "SCHEMA_INVALID"),
    "a short digest": (lambda d: {"decision": "approve", "request_digest": d[:20]}, 422, "SCHEMA_INVALID"),
    "a digest in capitals": (
        lambda d: {"decision": "approve", "request_digest": d.upper()},
        422,
        "SCHEMA_INVALID",
    ),
    "a digest with a line end": (
        lambda d: {"decision": "approve", "request_digest": d + "\n"},
        422,
        "SCHEMA_INVALID",
    ),
    "another digest": (lambda d: {"decision": "approve", "request_digest": ZERO}, 409, "DIGEST_MISMATCH"),
    "another digest to reject": (
        lambda d: {"decision": "reject", "request_digest": ZERO},
        409,
        "DIGEST_MISMATCH",
    ),
    "a reason as a number": (
        lambda d: {"decision": "reject", "request_digest": d, "reason": 1},
        422,
        "SCHEMA_INVALID",
    ),
    "a reason as null": (
        lambda d: {"decision": "reject", "request_digest": d, "reason": None},
        422,
        "SCHEMA_INVALID",
    ),
    "a long reason": (
        lambda d: {"decision": "reject", "request_digest": d, "reason": "x" * 4001},
        422,
        "SCHEMA_INVALID",
    ),
    "an edit of nothing": (lambda d: {"decision": "edit", "request_digest": d}, 422, "SCHEMA_INVALID"),
    "an edit to null": (
        lambda d: {"decision": "edit", "request_digest": d, "arguments": None},
        422,
        "SCHEMA_INVALID",
    ),
    "an edit to the empty object": (
        lambda d: {"decision": "edit", "request_digest": d, "arguments": {}},
        422,
        "SCHEMA_INVALID",
    ),
    "an edit to a wrong type": (
        lambda d: {"decision": "edit", "request_digest": d, "arguments": {"path": 1, "content": "x"}},
        422,
        "SCHEMA_INVALID",
    ),
    "an edit with another field": (
        lambda d: {
            "decision": "edit",
            "request_digest": d,
            "arguments": {"path": "notes/a", "content": "x", "y": 1},
        },
        422,
        "SCHEMA_INVALID",
    ),
    "an edit of the tool": (
        lambda d: {"decision": "edit", "request_digest": d, "arguments": {}, "tool": "http_request"},
        422,
        "SCHEMA_INVALID",
    ),
    "an approval with arguments": (
        lambda d: {"decision": "approve", "request_digest": d, "arguments": {}},
        422,
        "SCHEMA_INVALID",
    ),
    "a response without a result": (
        lambda d: {"decision": "respond", "request_digest": d},
        422,
        "SCHEMA_INVALID",
    ),
}

ANSWERS: Final[dict[str, Case]] = {
    "no content": (lambda _: {}, 422, "SCHEMA_INVALID"),
    "a wrong type": (lambda _: {"content": 7}, 422, "SCHEMA_INVALID"),
    "too short": (lambda _: {"content": "x"}, 422, "SCHEMA_INVALID"),
    "null": (lambda _: {"content": None}, 422, "SCHEMA_INVALID"),
    "an unknown kind": (lambda _: {"content": "xx", "kind": "answer"}, 422, "SCHEMA_INVALID"),
    "an unknown field": (lambda _: {"content": "xx", "approved": True}, 422, "SCHEMA_INVALID"),
    "another request": (lambda _: {"content": "xx", "request_identity": "b"}, 409, "CORRELATION_MISMATCH"),
    "another content": (lambda _: {"content": "xx", "content_identity": ZERO}, 409, "CORRELATION_MISMATCH"),
}

STARTS: Final[dict[str, tuple[object, int, str]]] = {
    "no input": ({"agent": "writer", "action": "write"}, 422, "SCHEMA_INVALID"),
    "an input against the schema": (
        {"agent": "writer", "action": "write", "input": {}},
        422,
        "SCHEMA_INVALID",
    ),
    "an input of another kind": ({"agent": "writer", "action": "write", "input": 1}, 422, "SCHEMA_INVALID"),
    "no such agent": ({"agent": "nobody", "action": "write", "input": {"about": "x"}}, 404, "NOT_FOUND"),
    "no such action": ({"agent": "writer", "action": "sing", "input": {"about": "x"}}, 404, "NOT_FOUND"),
    "an agent as a number": ({"agent": 1, "action": "write", "input": {"about": "x"}}, 422, "SCHEMA_INVALID"),
    "an empty delivery": (
        {"agent": "writer", "action": "write", "input": {"about": "x"}, "delivery": ""},
        422,
        "SCHEMA_INVALID",
    ),
    "an unprintable delivery": (
        {"agent": "writer", "action": "write", "input": {"about": "x"}, "delivery": "a\u202eb"},
        422,
        "SCHEMA_INVALID",
    ),
    "a requester": (
        {"agent": "writer", "action": "write", "input": {"about": "x"}, "requester": "user:maria"},
        422,
        "SCHEMA_INVALID",
    ),
    "a NUL": ({"agent": "wri\0ter", "action": "write", "input": {"about": "x"}}, 422, "SCHEMA_INVALID"),
}

QUERIES: Final = [
    "invocations?limit=0",
    "invocations?limit=201",
    "invocations?limit=x",
    "invocations?status=done",
    "invocations?cursor=x",
    "invocations?cursor=1.x",
    "invocations?text=" + "x" * 201,
    "approvals?state=open",
    "approvals?invocation=1",
    "inputs?state=x",
    "feed?after=-1",
    "feed?after=x",
    "feed?after=9007199254740993",
    "feed?wait=31",
    "feed?wait=nan",
    "feed?limit=0",
    "journal/export?invocation=x",
]


def nothing_changed(before: tuple[int, list[Any]]) -> bool:
    return state() == before


def state() -> tuple[int, list[Any]]:
    return Event.objects.count(), list(Invocation.objects.order_by("id").values_list("status", "version"))


def refusal(response: Any) -> tuple[int, str]:
    assert response["Content-Type"] == MEDIA_TYPE
    document = response.json()
    assert document["status"] == response.status_code
    assert document["type"].startswith("urn:lifecycle-console:problem:")
    return response.status_code, document["code"]


@pytest.mark.parametrize("name", MALFORMED)
def test_a_body_that_is_no_decision_is_refused(api: Api, world: World, name: str) -> None:
    content, *expected = MALFORMED[name]
    approval = world.approval()
    before = state()
    response = api.call("POST", f"approvals/{approval.id}/decision", "operator", content)
    assert refusal(response) == tuple(expected)
    assert nothing_changed(before)


@pytest.mark.parametrize("name", DECISIONS)
def test_a_wrong_decision_leaves_the_approval_open(api: Api, world: World, name: str) -> None:
    make, *expected = DECISIONS[name]
    approval = world.approval()
    before = state()
    response = api.post(f"approvals/{approval.id}/decision", make(approval.request_digest), "operator")
    assert refusal(response) == tuple(expected)
    assert nothing_changed(before)
    assert api.get(f"approvals/{approval.id}").json()["state"] == "pending"


@pytest.mark.parametrize("name", ANSWERS)
def test_a_wrong_answer_leaves_the_question_open(api: Api, world: World, name: str) -> None:
    make, *expected = ANSWERS[name]
    question = world.input()
    before = state()
    response = api.post(f"inputs/{question.id}/answer", make(question.request_identity), "operator")
    assert refusal(response) == tuple(expected)
    assert nothing_changed(before)
    assert api.get(f"inputs/{question.id}").json()["state"] == "pending"


@pytest.mark.parametrize("name", STARTS)
def test_a_wrong_start_starts_nothing(api: Api, world: World, name: str) -> None:
    body, *expected = STARTS[name]
    assert refusal(api.post("invocations", body, "host")) == tuple(expected)
    assert state() == (0, [])


@pytest.mark.parametrize("query", QUERIES)
def test_a_wrong_query_is_pointed_at(api: Api, world: World, query: str) -> None:
    response = api.get(query)
    assert refusal(response) == (422, "SCHEMA_INVALID")
    name = query.partition("?")[2].partition("=")[0]
    assert response.json()["errors"][0]["pointer"] == f"/{name}"


def test_a_cursor_beyond_all_times_has_nothing_before_it(api: Api, world: World) -> None:
    cursor = "9" * 100 + ".6f1f4a5e-1111-4111-8111-111111111111"
    assert api.get(f"invocations?cursor={cursor}").json() == {"items": [], "next": None}


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json5",
        "",
    ],
)
def test_only_json_is_read(api: Api, world: World, content_type: str) -> None:
    approval = world.approval()
    content = json.dumps({"decision": "approve", "request_digest": approval.request_digest}).encode()
    response = api.call(
        "POST", f"approvals/{approval.id}/decision", "operator", content, content_type=content_type
    )
    assert refusal(response) == (415, "MEDIA_TYPE_UNSUPPORTED")
    assert api.get(f"approvals/{approval.id}").json()["state"] == "pending"


def test_json_may_name_its_encoding(api: Api, world: World) -> None:
    approval = world.approval()
    content = json.dumps({"decision": "reject", "request_digest": approval.request_digest}).encode()
    kind = "application/json; charset=utf-8"
    response = api.call("POST", f"approvals/{approval.id}/decision", "operator", content, content_type=kind)
    assert response.status_code == 200


def test_a_body_beyond_the_limit_is_refused_with_the_limit(api: Api, world: World) -> None:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    response = api.call("POST", "invocations", "host", b" " * (limit + 1))
    assert refusal(response) == (413, "VALUE_TOO_LARGE")
    assert response.json()["limit_bytes"] == limit
    assert api.call("POST", "invocations", "host", b" " * limit).status_code == 400


def test_what_could_not_be_told_to_an_agent_is_refused_wherever_it_is_said(api: Api, world: World) -> None:
    approval, question = world.approval(), world.input()
    # Quotation marks that are two bytes each in the body and in a value, and four in a message that quotes the value.
    text = '"' * (settings.LIFECYCLE_VALUE_BYTES // 3)
    before = state()
    said: dict[str, dict[str, Json]] = {
        "invocations": {"agent": "writer", "action": "write", "input": {"about": text}},
        f"approvals/{approval.id}/decision": {
            "decision": "respond",
            "request_digest": approval.request_digest,
            "result": {"text": text},
        },
        f"inputs/{question.id}/answer": {"content": text},
    }
    for path, body in said.items():
        response = api.post(path, body, "owner")
        assert refusal(response) == (413, "VALUE_TOO_LARGE")
        assert response.json()["limit_bytes"] < settings.LIFECYCLE_VALUE_BYTES
    assert state() == before
    assert api.get(f"approvals/{approval.id}").json()["state"] == "pending"
    assert api.get(f"inputs/{question.id}").json()["state"] == "pending"


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "\u00e9"])
def test_a_key_that_is_none_is_refused(api: Api, world: World, key: str) -> None:
    body = {"agent": "writer", "action": "write", "input": {"about": "x"}}
    assert refusal(api.post("invocations", body, "host", Idempotency_Key=key)) == (422, "SCHEMA_INVALID")
    assert state() == (0, [])


def test_the_wrong_places_are_pointed_at(api: Api, world: World) -> None:
    response = api.post(f"approvals/{uuid4()}/decision", {"decision": "no", "a/b~c": 1}, "operator")
    pointers = [error["pointer"] for error in response.json()["errors"]]
    assert sorted(pointers) == ["/a~1b~0c", "/decision", "/request_digest"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "nothing",
        "invocations/",
        "invocations/1",
        "invocations/6F1F4A5E-1111-4111-8111-111111111111",
        "invocations/6f1f4a5e",
        "invocations/%206f1f4a5e-1111-4111-8111-111111111111",
        "approvals/6f1f4a5e-1111-4111-8111-111111111111/decisions",
        "deliveries/..%2f..%2fetc",
        "agents/writer/extra",
        "journal",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_address_that_is_none_answers_404_as_json(api: Api, world: World, method: str, path: str) -> None:
    assert refusal(api.call(method, path)) == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["agents/%00", "deliveries/a%00b", "tombstones/%00", "invocations?text=%00"])
def test_a_nul_in_an_address_is_refused(api: Api, world: World, path: str) -> None:
    assert refusal(api.get(path)) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("text", ["\0", "\u2028", "\u202e", "\ufffe", "\U0001f600", "a" * 4000])
def test_any_text_can_be_a_reason(api: Api, world: World, text: str) -> None:
    approval = world.approval()
    body = {"decision": "reject", "request_digest": approval.request_digest, "reason": text}
    shown = api.post(f"approvals/{approval.id}/decision", body, "operator").json()
    assert shown["decisions"][0]["reason"] == text


@pytest.mark.parametrize("text", ["\0", "\u2028", "\U0001f600"])
def test_any_text_can_be_an_input(api: Api, world: World, text: str) -> None:
    body = {"agent": "writer", "action": "write", "input": {"about": text}}
    assert api.post("invocations", body, "host").json()["input"] == {"about": text}


def test_a_fault_of_ours_tells_nothing_but_a_reference(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("lifecycle_core.application.queries.agents", fail)
    response = api.get("agents")
    assert refusal(response) == (500, "INTERNAL")
    assert "secret detail" not in response.content.decode()
    assert response.json()["reference"] in caplog.text


@pytest.mark.parametrize("header", ["X-Forwarded-Host", "X_Forwarded_Host"])
def test_a_forwarded_host_is_not_believed(api: Api, world: World, header: str) -> None:
    assert api.get("agents", **{header.replace("-", "_"): "evil.example"}).status_code == 200


def test_a_foreign_host_name_is_refused(api: Api, world: World) -> None:
    response = api.client.get(
        "/api/v1/agents", headers={"Host": "evil.example", "Authorization": f"Bearer {api.bearers['owner']}"}
    )
    assert refusal(response) == (400, "BAD_REQUEST")
