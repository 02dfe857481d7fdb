"""Speak the Model Context Protocol as far as a server of tools needs it, one JSON-RPC message at a time.

Only what the harness sends: initialize, ping, tools/list and tools/call. There is no session, no notification to the client and
no second version of a list, so a plain answer to each request is the whole server.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from lifecycle_core.contract import ports
from lifecycle_core.providers.dsh.exchange import ToolAsked

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
NO_OUTPUT: Final = "(no output)"


class Server:
    """Offer exactly some tools. `listed` tells that the client knows them."""

    def __init__(self, tools: Sequence[ports.ToolSpec]) -> None:
        self._tools = {spec.name: spec for spec in tools}
        self.listed = False

    def take(self, body: bytes) -> bytes | ToolAsked | None:
        """Return the answer to a message, the call that it asks for, or nothing where it wants no answer."""
        try:
            message = json.loads(body)
        except ValueError:
            return _error(None, INVALID_REQUEST, "this is not JSON")
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return _error(None, INVALID_REQUEST, "this is no request")
        if "id" not in message:
            return None
        params = message.get("params")
        return self._answer(message["id"], message["method"], params if isinstance(params, dict) else {})

    def _answer(self, id: Any, method: str, params: dict[str, Any]) -> bytes | ToolAsked:
        match method:
            case "initialize":
                return _result(id, _introduction(params))
            case "ping":
                return _result(id, {})
            case "tools/list":
                self.listed = True
                return _result(id, {"tools": [_described(spec) for spec in self._tools.values()]})
            case "tools/call":
                return self._call(id, params)
            case _:
                return _error(id, METHOD_NOT_FOUND, "there is no such method")

    def _call(self, id: Any, params: dict[str, Any]) -> bytes | ToolAsked:
        tool, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(tool, str) or tool not in self._tools or not isinstance(arguments, dict):
            return _error(id, INVALID_PARAMS, "there is no such tool")
        return ToolAsked(tool=tool, arguments=arguments, id=id)


def told(asked: ToolAsked, content: str, *, ok: bool) -> bytes:
    """Return the answer to a call, as the one event of a stream."""
    result = {"content": [{"type": "text", "text": content or NO_OUTPUT}], "isError": not ok}
    return b"event: message\ndata: " + _result(asked.id, result) + b"\n\n"


def _introduction(params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "lifecycle-console", "version": "1"},
    }


def _described(spec: ports.ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "inputSchema": spec.input_schema}


def _result(id: Any, result: dict[str, Any]) -> bytes:
    return _message({"id": id, "result": result})


def _error(id: Any, code: int, message: str) -> bytes:
    return _message({"id": id, "error": {"code": code, "message": message}})


def _message(fields: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}, ensure_ascii=True).encode()
