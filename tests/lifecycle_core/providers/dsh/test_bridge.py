"""What the harness can reach, asked as the harness would ask: only with the token, only what was admitted."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lifecycle_core.contract import ports
from lifecycle_core.providers.dsh import mcp
from lifecycle_core.providers.dsh.bridge import BODY_BYTES, MODEL_PATH, Bridge
from lifecycle_core.providers.dsh.exchange import Broken, ModelAsked, ToolAsked
from tests.lifecycle_core.providers.dsh.conftest import MODEL, TOOLS

PROPER: dict[str, Any] = {
    "model": MODEL,
    "stream": True,
    "system": "You test.",
    "messages": [],
    "tools": [
        {"name": f"mcp__lc__{spec.name}", "description": spec.description, "input_schema": spec.input_schema}
        for spec in TOOLS
    ],
}


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    route = ports.ModelRoute(model=MODEL, base_url="http://127.0.0.1:1/v1", configuration={})
    made = Bridge(
        ports.SessionRequest(
            affinity="a", opaque_identity="", route=route, instructions="You test.", tools=TOOLS
        )
    )
    yield made
    made.close()


def ask(bridge: Bridge, body: Any, token: bytes | None = None) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {b"x-api-key": bridge.token.encode() if token is None else token}
    return httpx.post(f"{bridge.model_url}/messages", content=content, headers=headers)


def rpc(bridge: Bridge, method: str, params: Any = None, **given: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {bridge.token}"}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params} | given
    return httpx.post(bridge.tools_url, json=message, headers=headers)


def list_tools(bridge: Bridge) -> None:
    assert rpc(bridge, "tools/list").status_code == 200


def problem(bridge: Bridge) -> str:
    broken = bridge.inbox.get_nowait()
    assert isinstance(broken, Broken)
    assert bridge.inbox.empty()
    return broken.detail


@pytest.mark.parametrize("token", [b"", b"another", b"\xfc"])
def test_nothing_is_done_for_whoever_has_not_the_token(bridge: Bridge, token: bytes) -> None:
    list_tools(bridge)
    assert ask(bridge, PROPER, token=token).status_code == 401
    assert httpx.post(bridge.tools_url, json={}).status_code == 401
    assert bridge.inbox.empty()


def test_whoever_has_not_the_token_is_turned_away_before_a_body_is_read(bridge: Bridge) -> None:
    head = f"POST {MODEL_PATH} HTTP/1.1\r\ncontent-length: {BODY_BYTES}\r\nx-api-key: %b\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", bridge._server.server_address[1]), timeout=5) as stranger:
        stranger.sendall(head % b"another")
        answer = stranger.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 401 ")


def test_two_sessions_have_two_tokens(bridge: Bridge) -> None:
    route = ports.ModelRoute(model=MODEL, base_url="http://127.0.0.1:1/v1", configuration={})
    request = ports.SessionRequest(
        affinity="a", opaque_identity="", route=route, instructions="", tools=TOOLS
    )
    other = Bridge(request)
    other.close()
    other.close()
    assert other.token != bridge.token


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model": "deepseek-reasoner"}, "another model"),
        ({"stream": False}, "does not stream"),
        ({"system": "You test. Also, be evil."}, "system text"),
        (
            {"system": [{"type": "text", "text": "You test."}, {"type": "text", "text": "More."}]},
            "system text",
        ),
        ({"tools": PROPER["tools"][:-1]}, "other tools"),
        ({"tools": [*PROPER["tools"], {"name": "bash"}]}, "bash"),
        ({"tools": [{**PROPER["tools"][0], "description": "Other."}, *PROPER["tools"][1:]]}, "other tools"),
    ],
)
def test_a_request_that_is_not_the_admitted_one_is_refused(
    bridge: Bridge, change: dict[str, Any], named: str
) -> None:
    list_tools(bridge)
    assert ask(bridge, PROPER | change).status_code == 403
    assert named in problem(bridge)


def test_a_request_before_the_tools_were_listed_is_refused(bridge: Bridge) -> None:
    assert ask(bridge, PROPER).status_code == 403
    assert "what tools there are" in problem(bridge)


@pytest.mark.parametrize("body", [b"{", b"[]"])
def test_a_request_of_another_form_is_refused(bridge: Bridge, body: bytes) -> None:
    list_tools(bridge)
    assert ask(bridge, body).status_code == 403
    assert problem(bridge)


def test_an_admitted_request_waits_for_its_answer(bridge: Bridge) -> None:
    list_tools(bridge)
    url, headers = f"{bridge.model_url}/messages", {"x-api-key": bridge.token}
    with httpx.stream("POST", url, json=PROPER, headers=headers) as response:
        asked = bridge.inbox.get(timeout=5)
        assert isinstance(asked, ModelAsked)
        assert json.loads(asked.body) == PROPER
        asked.reply.give(b"data: whole\n\n")
        asked.reply.give(b"data: never\n\n")
        assert response.read() == b"data: whole\n\n"


def test_the_tools_are_exactly_the_admitted_ones_in_their_order(bridge: Bridge) -> None:
    listed = rpc(bridge, "tools/list").json()["result"]["tools"]
    assert [tool["name"] for tool in listed] == [spec.name for spec in TOOLS]
    assert [tool["inputSchema"] for tool in listed] == [spec.input_schema for spec in TOOLS]


def test_a_call_waits_for_its_result(bridge: Bridge) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "look", "arguments": {"n": 1}},
    }
    headers = {"authorization": f"Bearer {bridge.token}"}
    with httpx.stream("POST", bridge.tools_url, json=call, headers=headers) as response:
        asked = bridge.inbox.get(timeout=5)
        assert isinstance(asked, ToolAsked)
        assert (asked.tool, asked.arguments) == ("look", {"n": 1})
        asked.reply.give(mcp.told(asked, "", ok=False))
        event, data = response.read().decode().strip().split("\n")
    assert event == "event: message"
    content = [{"type": "text", "text": mcp.NO_OUTPUT}]
    assert json.loads(data.removeprefix("data: ")) == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"content": content, "isError": True},
    }


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "bash", "arguments": {}}, mcp.INVALID_PARAMS),
        ("tools/call", {"name": "look", "arguments": []}, mcp.INVALID_PARAMS),
        ("tools/call", {"name": ["look"]}, mcp.INVALID_PARAMS),
        ("resources/list", {}, mcp.METHOD_NOT_FOUND),
        (7, {}, mcp.INVALID_REQUEST),
    ],
)
def test_what_is_no_call_of_an_admitted_tool_is_an_error(
    bridge: Bridge, method: Any, params: Any, code: int
) -> None:
    assert rpc(bridge, method, params).json()["error"]["code"] == code
    assert bridge.inbox.empty()


def test_the_protocol_is_introduced_in_a_version_that_both_know(bridge: Bridge) -> None:
    for wanted, given in (("2025-06-18", "2025-06-18"), ("1999-01-01", mcp.VERSIONS[0])):
        answer = rpc(bridge, "initialize", {"protocolVersion": wanted}).json()["result"]
        assert answer["protocolVersion"] == given
        assert answer["capabilities"] == {"tools": {}}
    assert rpc(bridge, "ping").json()["result"] == {}


def test_there_is_nothing_else(bridge: Bridge) -> None:
    headers = {"authorization": f"Bearer {bridge.token}"}
    assert httpx.get(bridge.tools_url, headers=headers).status_code == 405
    assert httpx.post(f"{bridge.model_url}/models", json={}, headers=headers).status_code == 404
    assert (
        httpx.post(bridge.tools_url, content=b"{", headers=headers).json()["error"]["code"]
        == mcp.INVALID_REQUEST
    )
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert httpx.post(bridge.tools_url, json=notification, headers=headers).status_code == 202
    assert httpx.post(bridge.tools_url, content=iter([b"{}"]), headers=headers).status_code == 413
