"""A small HTTP server on the loopback interface, in threads of its own, that ends at once when it is told to."""

import contextlib
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class _Server(ThreadingHTTPServer):
    """Remember the open connections, because a kept one would outlive the server."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that goes away, which is what these servers are for; any other fault is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class LoopbackServer:
    """Serve with a handler class until closed; a context manager that serves inside."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        self._server = _Server(port, handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.closing = threading.Event()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop accepting and drop every connection; idempotent."""
        if self.closing.is_set():
            return
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._server.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Handler(BaseHTTPRequestHandler):
    """Keep connections, send at once, log nothing: requests carry secrets."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Answer in one piece."""
        self.send_response_only(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def drop(self) -> None:
        """Drop the connection, with whatever was not yet sent."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
