"""Be all that the harness can reach: a loopback server with our tools and a way to the model, for one session.

Whoever speaks with it shows the token of this session. What it asks for waits until the thread of the turn has done it; in the
meantime the connection is kept busy, because HTTP clients give up on a silent one.
"""

import contextlib
import hmac
import queue
import secrets
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from lifecycle_core.contract import ports
from lifecycle_core.providers.dsh import mcp
from lifecycle_core.providers.dsh.admitted import Admitted
from lifecycle_core.providers.dsh.exchange import Broken, Inbox, ModelAsked, Reply, ToolAsked

MODEL_PATH: Final = "/v1/messages"
TOOLS_PATH: Final = "/mcp"
BODY_BYTES: Final = 64 * 1024 * 1024
KEEP_BUSY_SECONDS: Final = 15.0
PING: Final = b'event: ping\ndata: {"type": "ping"}\n\n'
COMMENT: Final = b": still at it\n\n"


class Bridge:
    """Serve one session until closed."""

    def __init__(self, request: ports.SessionRequest) -> None:
        self.inbox: Inbox = queue.SimpleQueue()
        self.token = secrets.token_urlsafe(32)
        self.tools = mcp.Server(request.tools)
        self.admitted = Admitted(request)
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._closed = False
        self._thread.start()

    @property
    def model_url(self) -> str:
        return f"{self._origin}/v1"

    @property
    def tools_url(self) -> str:
        return f"{self._origin}{TOOLS_PATH}"

    @property
    def _origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop accepting and drop every connection; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._server.shutdown()
        self._server.server_close()
        self._server.drop_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, bridge: Bridge) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), type("Handler", (_Handler,), {"bridge": bridge}))

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def drop_all(self) -> None:
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the harness goes away whenever it is told to, and a request may hold what no log should."""


class _Handler(BaseHTTPRequestHandler):
    bridge: Bridge
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Offer no stream of our own: there is nothing that we would tell unasked."""
        self._end(405)

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not self._is_ours():
            self._turn_away(401)
            return
        if not length.isdecimal() or int(length) > BODY_BYTES:
            self._turn_away(413)
            return
        body = self.rfile.read(int(length))
        match self.path:
            case path if path == MODEL_PATH:
                self._ask_model(body)
            case path if path == TOOLS_PATH:
                self._ask_tools(body)
            case _:
                self._end(404)

    def _turn_away(self, status: int) -> None:
        """Answer without a look at the body, which nobody can tell from a next request then."""
        self.close_connection = True
        self._end(status)

    def _is_ours(self) -> bool:
        """Tell whether the client showed the token, as the key of the model or as that of the tools."""
        given = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode("latin-1", "replace"), self.bridge.token.encode())

    def _ask_model(self, body: bytes) -> None:
        listed = "" if self.bridge.tools.listed else "the harness has not asked what tools there are"
        if problem := listed or self.bridge.admitted.problem(body):
            self.bridge.inbox.put(Broken(problem))
            self._end(403)
            return
        asked = ModelAsked(body)
        self.bridge.inbox.put(asked)
        self._stream(asked.reply, PING)

    def _ask_tools(self, body: bytes) -> None:
        answer = self.bridge.tools.take(body)
        if isinstance(answer, ToolAsked):
            self.bridge.inbox.put(answer)
            self._stream(answer.reply, COMMENT)
        elif answer is None:
            self._end(202)
        else:
            self._end(200, answer)

    def _end(self, status: int, body: bytes = b"") -> None:
        self.send_response_only(status)
        if self.close_connection:
            self.send_header("connection", "close")
        if body:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply, keep_busy: bytes) -> None:
        """Answer with the events of a reply once there is one."""
        self.send_response_only(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        while not reply.wait(KEEP_BUSY_SECONDS):
            self._chunk(keep_busy)
        self._chunk(reply.body)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
