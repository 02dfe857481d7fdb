"""Reach a model server over kept connections that another thread can cut at any moment.

This stands on httpcore, the wire of httpx, and not on `httpx.Client`, for three reasons. A read that waits
for the first byte of an answer can be cut only by who knows its socket, and httpx tells the socket with the
answer. A client that serves all tenants must not keep cookies. And after the end of an answer the rest of the
stream is read with a short deadline of its own, so that the connection can serve again. Nothing here reads
the environment or follows a redirect.
"""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore

from lifecycle_core.contract import errors, ports

FAILURES: Final = (
    httpcore.ConnectionNotAvailable,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)

DRAIN_SECONDS: Final = 0.25
DRAIN_BYTES: Final = 64 * 1024
ERROR_BYTES: Final = 64 * 1024


class Line:
    """Be what one session uses of the wire; once cut it stays cut."""

    def __init__(self) -> None:
        self.is_cut = False
        self.deadline: float | None = None
        self._lock = threading.Lock()
        self._stream: httpcore.NetworkStream | None = None

    @contextlib.contextmanager
    def over(self, stream: httpcore.NetworkStream) -> Iterator[None]:
        """Hold a stream while it is used, so that `cut` finds it and never one that serves others by now."""
        with self._lock:
            if self.is_cut:
                raise httpcore.ReadError("the line is cut")
            self._stream = stream
        try:
            yield
        finally:
            with self._lock:
                self._stream = None

    def cut(self) -> None:
        """Free whoever is blocked on this line, at once, and refuse every later use."""
        with self._lock:
            self.is_cut = True
            if self._stream is not None:
                _shut_down(self._stream)

    def patience(self, timeout: float | None) -> float | None:
        """Return how long a read may still wait."""
        if self.deadline is None:
            return timeout
        left = max(self.deadline - time.monotonic(), 0.001)
        return left if timeout is None else min(timeout, left)


def _shut_down(stream: httpcore.NetworkStream) -> None:
    # The plain method, also for TLS: `SSLSocket.shutdown` would pull the TLS state from under the reader.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)


_line: ContextVar[Line] = ContextVar("line")


class _Stream(httpcore.NetworkStream):
    """Tell the line of the calling thread what it is blocked on."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        line = _line.get()
        with line.over(self._inner):
            return self._inner.read(max_bytes, line.patience(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with _line.get().over(self._inner):
            self._inner.write(buffer, timeout)

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        with _line.get().over(self._inner):
            return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Network(httpcore.SyncBackend):
    """Connect as usual, and wrap what was connected."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(super().connect_tcp(host, port, timeout, local_address, socket_options))


class Transport:
    """Keep connections to model servers; both limits are in seconds."""

    def __init__(self, *, idle: float, connect: float, ssl_context: ssl.SSLContext | None = None) -> None:
        self._timeouts = {"connect": connect, "read": idle, "write": idle, "pool": connect}
        self._pool = httpcore.ConnectionPool(
            ssl_context=ssl_context or httpcore.default_ssl_context(),
            max_connections=1000,
            max_keepalive_connections=64,
            keepalive_expiry=15,
            network_backend=_Network(),
        )

    @contextlib.contextmanager
    def post(
        self, url: str, headers: Sequence[tuple[str, str]], content: bytes, line: Line
    ) -> Iterator[httpcore.Response]:
        """Post and give the answer, with its body unread. Raises one of `FAILURES`."""
        token = _line.set(line)
        try:
            extensions = {"timeout": self._timeouts}
            with self._pool.stream(
                "POST", url, headers=headers, content=content, extensions=extensions
            ) as response:
                yield response
        finally:
            _line.reset(token)

    def close(self) -> None:
        """Close the connections; idempotent."""
        self._pool.close()


def endpoint(base_url: str, path: str) -> str:
    """Return where a path of a model server is. Raises `errors.ConfigurationInvalid`."""
    parts = urlsplit(base_url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username
        or parts.query
        or parts.fragment
    ):
        raise errors.ConfigurationInvalid(detail="the base URL is no plain http or https URL")
    return base_url.rstrip("/") + path


def sendable(secret: str) -> str:
    """Return a key that a header can carry. Raises `ports.ModelCallFailed`, whose text has no part of the key."""
    if not secret:
        raise ports.ModelCallFailed("MISSING_CREDENTIAL", "there is no key to send")
    if not all("!" <= character <= "~" for character in secret):
        raise ports.ModelCallFailed("INVALID_CREDENTIAL", "the key has characters that no header can carry")
    return secret


def drain(chunks: Iterator[bytes], line: Line) -> None:
    """Read what is left of a complete answer where that is quick, so that its connection can serve again."""
    line.deadline = time.monotonic() + DRAIN_SECONDS
    left = DRAIN_BYTES
    try:
        for chunk in chunks:
            left -= len(chunk)
            if left < 0:
                return
    except FAILURES:
        return  # The answer is whole; only the connection is lost.
    finally:
        line.deadline = None


@contextlib.contextmanager
def calling(line: Line) -> Iterator[None]:
    """Say what went wrong on the way to a model server and back. Raises `ports.ModelCallFailed`."""
    try:
        yield
    except httpcore.ReadTimeout:
        raise ports.ModelCallFailed("TIMEOUT", "the server did not answer in time") from None
    except (*FAILURES, ports.ModelCallFailed) as failure:
        if line.is_cut:
            raise ports.ModelCallFailed("ABORTED", "the call was cancelled") from None
        if isinstance(failure, ports.ModelCallFailed):
            raise
        detail = f"{type(failure).__name__}: {failure}"
        raise ports.ModelCallFailed("TRANSPORT", detail, retryable=_sent_nothing(failure)) from None


def _sent_nothing(failure: Exception) -> bool:
    """Tell whether there was no connection at all; a certificate that is not trusted will not be the next time either."""
    unconnected = isinstance(failure, httpcore.ConnectError | httpcore.ConnectTimeout | httpcore.PoolTimeout)
    # The pool forgets the cause of a failure; the failure itself still holds it.
    return unconnected and not any(isinstance(cause, ssl.SSLError) for cause in failure.args)


def received(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a body; one that breaks off is a closed stream, for its answer had begun."""
    try:
        # Not `yield from`: that would close the body, and with it the connection, as soon as nobody asks for more.
        for chunk in chunks:  # noqa: UP028
            yield chunk
    except httpcore.ReadTimeout:
        raise
    except FAILURES as failure:
        raise ports.ModelCallFailed(
            "STREAM_CLOSED", f"the stream broke off: {type(failure).__name__}"
        ) from None


def beginning(chunks: Iterator[bytes]) -> bytes:
    """Return the beginning of the body of an error, as far as it came."""
    body = b""
    try:
        for chunk in chunks:
            body += chunk
            if len(body) > ERROR_BYTES:
                break
    except FAILURES:
        pass  # The status says enough.
    return body[:ERROR_BYTES]
