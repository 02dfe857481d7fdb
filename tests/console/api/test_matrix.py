"""Who may call what: every operation of the URL map, for every role, for strangers and for other tenants."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
from django.db import transaction
from django.urls import URLPattern, get_resolver

from console.api.urls import api as ninja_api
from lifecycle_core.access import roles
from tests.console.api.conftest import ELSEWHERE, STRANGER, WRITE, Api, World

ALL: Final = frozenset(roles.PERMISSIONS)
READERS: Final = ALL - {"host"}
NOT_THERE: Final = "6f1f4a5e-1111-4111-8111-111111111111"
DIGEST: Final = "sha256:" + "0" * 64


@dataclass(frozen=True)
class Row:
    """What one operation promises. `own`: the host who started the thing may read it; `hidden`: gets 404."""

    allowed: frozenset[str]
    body: Callable[[Mapping[str, Any]], object] | None = None
    own: bool = False
    hidden: frozenset[str] = frozenset()
    status: int = 200


def decision(things: Mapping[str, Any]) -> object:
    return {"decision": "approve", "request_digest": things["digest"]}


# To another question than is asked: whoever may continue is told so, and nothing has happened.
RESPONSE: Final = {
    "kind": "ANSWER",
    "requestIdentity": "another",
    "content": "Customers",
    "contentIdentity": DIGEST,
}


MATRIX: Final = {
    ("GET", "agents"): Row(ALL),
    ("GET", "agents/{name}"): Row(ALL),
    ("GET", "agents/{name}/versions"): Row(ALL),
    ("POST", "agents/{name}/withdraw"): Row(frozenset({"admin", "owner"}), lambda _: {"reason": "x"}),
    ("GET", "providers"): Row(ALL),
    ("GET", "providers/{key}"): Row(ALL),
    ("GET", "tools"): Row(ALL),
    ("GET", "tools/{name}"): Row(ALL),
    ("GET", "deliveries"): Row(READERS, own=True),
    ("GET", "deliveries/{delivery}"): Row(READERS, own=True),
    ("POST", "deliveries/{delivery}/cancel"): Row(
        frozenset({"coordinator", "owner"}), lambda _: {"reason": "TIMEOUT"}
    ),
    ("POST", "deliveries/{delivery}/retire"): Row(
        frozenset({"coordinator", "owner"}), lambda _: {"authorization": "ticket-1"}
    ),
    ("POST", "invocations"): Row(
        frozenset({"host", "owner"}),
        lambda _: {"agent": "writer", "action": "write", "input": {"about": "x"}},
        status=202,
    ),
    ("GET", "invocations"): Row(READERS, own=True),
    ("GET", "invocations/{uuid:invocation}"): Row(READERS, own=True),
    ("GET", "invocations/{uuid:invocation}/events"): Row(READERS, own=True),
    ("GET", "invocations/{uuid:invocation}/transcript"): Row(READERS, own=True),
    ("GET", "invocations/{uuid:invocation}/dispatch"): Row(READERS, own=True),
    ("GET", "invocations/{uuid:invocation}/disposition"): Row(READERS, own=True),
    ("POST", "invocations/{uuid:invocation}/cancel"): Row(frozenset({"operator", "owner"}), lambda _: {}),
    ("POST", "invocations/{uuid:invocation}/continue"): Row(
        frozenset({"operator", "owner"}), lambda _: {"episode": {}, "response": RESPONSE}, status=409
    ),
    ("GET", "invocations/{uuid:invocation}/open-intents"): Row(READERS, own=True),
    # It is known how this one stands: a coordinator is told so, and nothing has happened.
    ("POST", "invocations/{uuid:invocation}/resolve"): Row(
        frozenset({"coordinator", "owner"}), lambda _: {"outcome": "failed", "reason": "x"}, status=409
    ),
    # It has not ended: whoever may start is told so, and nothing has happened.
    ("POST", "invocations/{uuid:invocation}/retry"): Row(
        frozenset({"host", "owner"}), lambda _: {}, status=409
    ),
    ("POST", "dispatches"): Row(
        frozenset({"host", "owner"}),
        lambda _: {"agent": "writer", "action": "write", "input": {"about": "x"}},
    ),
    ("POST", "workspaces/{workspace}/capabilities"): Row(
        frozenset({"host", "owner"}),
        lambda things: {"agent": "writer", "episode": things.get("episode") or {}},
    ),
    ("GET", "affinities"): Row(READERS, own=True),
    ("GET", "affinities/{uuid:affinity}"): Row(READERS, own=True),
    ("GET", "leases"): Row(READERS, own=True),
    ("GET", "approvals"): Row(READERS, own=True),
    ("GET", "approvals/{uuid:approval}"): Row(READERS, own=True),
    ("POST", "approvals/{uuid:approval}/decision"): Row(frozenset({"operator", "owner"}), decision),
    ("GET", "inputs"): Row(READERS, own=True),
    ("GET", "inputs/{uuid:input}"): Row(READERS, own=True),
    ("POST", "inputs/{uuid:input}/answer"): Row(
        frozenset({"operator", "owner"}), lambda _: {"content": "Customers"}
    ),
    ("POST", "inputs/{uuid:input}/decline"): Row(frozenset({"operator", "owner"}), lambda _: {}),
    ("GET", "tombstones"): Row(READERS),
    ("GET", "tombstones/{tombstone}"): Row(READERS, hidden=frozenset({"host"})),
    ("GET", "feed"): Row(READERS),
    ("GET", "journal/export"): Row(frozenset({"auditor", "owner"})),
    ("GET", "journal/verify"): Row(frozenset({"auditor", "owner"})),
}
OPERATIONS: Final = sorted(MATRIX)


def operations() -> Iterator[tuple[str, str]]:
    """Walk the operations that ninja serves."""
    for prefix, router in ninja_api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                for method in operation.methods:
                    yield method, f"{prefix}{path}".strip("/").replace("uuidstr:", "uuid:")


@pytest.fixture
def things(api: Api, world: World) -> dict[str, Any]:
    """Make one of everything, and fill the addresses with it."""
    approval, question = world.approval(), world.input()
    retired = api.get(f"invocations/{world.start()}").json()["delivery_id"]
    assert api.post(f"deliveries/{retired}/retire", {"authorization": "ticket-0"}).status_code == 200
    delivery = api.get(f"invocations/{approval.invocation}").json()["delivery_id"]
    return {
        "name": "writer",
        "key": "chat-completions",
        "delivery": delivery,
        "tombstone": retired,
        "uuid:invocation": approval.invocation,
        "uuid:affinity": api.get("affinities").json()["items"][0]["id"],
        "uuid:approval": approval.id,
        "uuid:input": question.id,
        "digest": approval.request_digest,
        "workspace": "desk",
        "episode": api.get(f"invocations/{approval.invocation}/dispatch").json()["episode"],
    }


def address(path: str, things: Mapping[str, Any]) -> str:
    if path.startswith("tools/"):
        return "tools/files_write"
    return re.sub(r"\{([^}]+)\}", lambda match: str(things[match[1]]), path)


@contextmanager
def undone() -> Iterator[None]:
    """Take back what happens inside, so that the next role meets the same things."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def send(api: Api, operation: tuple[str, str], things: Mapping[str, Any], who: str | None) -> Any:
    method, path = operation
    make = MATRIX[operation].body
    if make is None:
        return api.call(method, address(path, things), who)
    return api.post(address(path, things), make(things), who)


def test_the_matrix_lists_every_operation_and_no_other() -> None:
    assert set(operations()) == set(MATRIX)


def test_nothing_else_is_served_below_api() -> None:
    """Ninja's own documents are open, the rest is operations; whatever is added must be listed here."""
    found = set()
    for pattern in get_resolver("console.api.urls").url_patterns:
        inside = getattr(pattern, "url_patterns", None)
        found |= {str(p.pattern) for p in inside} if inside else {str(pattern.pattern)}
        assert inside or isinstance(pattern, URLPattern)
    served = {path.replace("{", "<").replace("}", ">") for _, path in MATRIX}
    found = {path.replace("uuidstr:", "uuid:") for path in found}
    assert found - served == {"v1/", "^.*$", "", "openapi.json", "docs"}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_role_may_exactly_what_the_matrix_says(
    api: Api, things: dict[str, Any], operation: tuple[str, str]
) -> None:
    row = MATRIX[operation]
    allowed = row.allowed | ({"host"} if row.own else set())
    found = {}
    for role in sorted(ALL):
        with undone():
            found[role] = send(api, operation, things, role).status_code
    refused = {role: 404 if role in row.hidden else 403 for role in ALL - allowed}
    assert found == dict.fromkeys(allowed, row.status) | refused


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nobody_gets_401(api: Api, operation: tuple[str, str]) -> None:
    things = dict.fromkeys(["name", "key", "delivery", "tombstone", "workspace"], "x") | dict.fromkeys(
        ("uuid:invocation", "uuid:affinity", "uuid:approval", "uuid:input"), NOT_THERE
    )
    for who in (None, "", "lcc_nobody", "lcc_" + "0" * 49):
        response = send(api, operation, {**things, "digest": DIGEST}, who)
        assert (response.status_code, response.json()["code"]) == (401, "UNAUTHENTICATED")
        assert "Bearer" in response["WWW-Authenticate"]


ONE_THING: Final = [operation for operation in OPERATIONS if "{" in operation[1]]
IN_A_TENANT: Final = [op for op in ONE_THING if op[1].split("/")[0] not in ("providers", "tools")]


@pytest.mark.parametrize("operation", IN_A_TENANT)
def test_what_is_not_yours_is_not_there(api: Api, things: dict[str, Any], operation: tuple[str, str]) -> None:
    nothing = dict.fromkeys(things, NOT_THERE) | {"digest": DIGEST, "episode": things["episode"]}
    # Agents and their workspaces are there for all hosts, tombstones for none: the roles above say so.
    everybody = operation[1].startswith(("agents", "tombstones", "workspaces"))
    for who in [f"owner@{ELSEWHERE}"] if everybody else [f"owner@{ELSEWHERE}", STRANGER]:
        foreign, absent = send(api, operation, things, who), send(api, operation, nothing, who)
        assert foreign.status_code == absent.status_code == 404
        assert foreign.content == absent.content


def test_lists_hold_only_what_is_yours(api: Api, things: dict[str, Any]) -> None:
    for path in ("affinities", "deliveries", "invocations", "approvals", "inputs"):
        assert api.get(path).json()["items"]
        for who in (f"owner@{ELSEWHERE}", STRANGER):
            assert api.get(path, who).json()["items"] == []


def test_another_tenant_has_neither_agents_nor_tombstones(api: Api, things: dict[str, Any]) -> None:
    for path in ("agents", "tombstones"):
        assert api.get(path).json()["items"]
        assert api.get(path, f"owner@{ELSEWHERE}").json()["items"] == []


def test_another_tenant_cannot_start_our_agent(api: Api, things: dict[str, Any]) -> None:
    response = send(api, ("POST", "invocations"), things, f"owner@{ELSEWHERE}")
    assert response.status_code == 404


PATHS: Final = sorted({path for _, path in MATRIX})


@pytest.mark.parametrize("path", PATHS)
def test_another_method_is_not_allowed_and_the_answer_says_which_are(
    api: Api, world: World, path: str
) -> None:
    things = dict.fromkeys(["name", "key", "delivery", "tombstone", "workspace"], "x") | dict.fromkeys(
        ("uuid:invocation", "uuid:affinity", "uuid:approval", "uuid:input"), NOT_THERE
    )
    allowed = {method for method, known in MATRIX if known == path}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - allowed:
        response = api.call(method, address(path, things))
        assert (response.status_code, response.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
        assert {name.strip() for name in response["Allow"].split(",")} == allowed


ENDED: Final = {
    ("POST", "deliveries/{delivery}/retire"): (403, "RETIREMENT_NOT_AUTHORIZED"),
    ("POST", "approvals/{uuid:approval}/decision"): (409, "ALREADY_DECIDED"),
    ("POST", "inputs/{uuid:input}/answer"): (409, "ALREADY_DECIDED"),
    ("POST", "inputs/{uuid:input}/decline"): (409, "ALREADY_DECIDED"),
}


@pytest.mark.parametrize("operation", sorted(ENDED))
def test_what_has_ended_is_refused_with_its_end(
    api: Api, world: World, things: dict[str, Any], operation: tuple[str, str]
) -> None:
    for invocation in (things["uuid:invocation"], world_of(api, things)):
        assert api.post(f"invocations/{invocation}/cancel", {}).status_code == 200
    assert api.post(f"deliveries/{things['delivery']}/cancel", {"reason": "TIMEOUT"}).status_code == 200
    if operation[1].endswith("retire"):
        api.post(f"deliveries/{things['delivery']}/retire", {"authorization": "ticket-of-another"})
    response = send(api, operation, things, "owner")
    assert (response.status_code, response.json()["code"]) == ENDED[operation]


def world_of(api: Api, things: Mapping[str, Any]) -> str:
    """Return the invocation of the question."""
    return str(api.get(f"inputs/{things['uuid:input']}").json()["invocation"])


def test_a_cancelled_invocation_stays_as_it_is(api: Api, world: World) -> None:
    invocation = world.start(WRITE)
    first = api.post(f"invocations/{invocation}/cancel", {}).json()
    again = api.post(f"invocations/{invocation}/cancel", {"reason": "TIMEOUT"})
    assert first["status"] == again.json()["status"] == "cancelled"
