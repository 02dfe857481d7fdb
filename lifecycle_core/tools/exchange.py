"""One HTTP exchange that can be given up at any moment, and that knows whether it had begun to speak."""

import functools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from lifecycle_core.contract.ports import OutcomeUnknown, ToolError
from lifecycle_core.tools.origins import Place

MAX_BODY_BYTES: Final = 256 << 10
CONNECT_SECONDS: Final = 5.0
TOTAL_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is sent: the target and the body exactly as given."""

    method: str
    place: Place
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back; `complete` is false when the body was cut at the limit."""

    status: int
    headers: httpx.Headers
    body: bytes
    complete: bool


class _Abandoned(Exception):
    """Nobody waits for the exchange any more."""


@dataclass(kw_only=True)
class _Line:
    """The connection as two threads see it: one speaks, the other may hang up."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    streams: list[Any] = field(default_factory=list)
    sent: bool = False
    abandoned: bool = False

    def trace(self, event: str, details: Mapping[str, Any]) -> None:
        """Follow the steps of the connection as httpx reports them."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._hold(details["return_value"])
        elif event == "http11.send_request_headers.started":
            self._speak()

    def _hold(self, stream: Any) -> None:
        with self.lock:
            self.streams.append(stream)
            if self.abandoned:
                raise _Abandoned

    def _speak(self) -> None:
        with self.lock:
            if self.abandoned:
                raise _Abandoned
            self.sent = True

    def hang_up(self) -> bool:
        """End the connection from outside and tell whether the request had begun to go out."""
        with self.lock:
            self.abandoned = True
            for stream in self.streams:
                _shut(stream.get_extra_info("socket"))
            return self.sent


def _shut(connection: socket.socket) -> None:
    try:
        # Not the method of the TLS socket, which takes its state away from under the thread that reads.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        return  # it is closed already, which is what we want


class Exchange:
    """Send a request and wait for its answer.

    The speaking happens in a thread of its own, since a name look-up and a read that trickles cannot be bounded otherwise.
    """

    def __init__(self, request: Request, addresses: Callable[[], Sequence[str]]) -> None:
        self._request = request
        self._addresses = addresses
        self._line = _Line()
        self._done = threading.Event()
        self._answer: Answer | None = None
        self._failure: Exception | None = None

    def run(self, interrupted: Callable[[], bool]) -> Answer:
        """Return the answer. Raises `ToolError` when nothing was sent, `OutcomeUnknown` when no answer came to what was."""
        threading.Thread(target=self._speak, name="http-request", daemon=True).start()
        deadline = time.monotonic() + TOTAL_SECONDS
        while not self._done.wait(POLL_SECONDS):
            if interrupted():
                raise self._lost("the call was interrupted", sent=self._line.hang_up())
            if time.monotonic() > deadline:
                raise self._lost(
                    f"no complete answer within {TOTAL_SECONDS:.0f} seconds", sent=self._line.hang_up()
                )
        if self._answer is not None:
            return self._answer
        if isinstance(self._failure, ToolError):
            raise self._failure
        raise self._lost(f"failed ({type(self._failure).__name__})", sent=self._line.sent) from self._failure

    def _lost(self, reason: str, *, sent: bool) -> Exception:
        place = self._request.place
        if sent:
            return OutcomeUnknown(f"{self._request.method} {place.origin}: {reason} after sending had begun")
        return ToolError("NOT_SENT", f"{place.origin}: {reason} before anything was sent")

    def _speak(self) -> None:
        try:
            self._answer = self._first_reachable(self._addresses())
        except Exception as failure:  # noqa: BLE001  (whatever happens here must reach the thread that waits)
            self._failure = failure
        finally:
            self._done.set()

    def _first_reachable(self, addresses: Sequence[str]) -> Answer:
        for address in addresses[:-1]:
            try:
                return self._exchange(address)
            except httpx.TransportError:
                if self._line.sent or self._line.abandoned:
                    raise
        return self._exchange(addresses[-1])

    def _exchange(self, address: str) -> Answer:
        request, place = self._request, self._request.place
        url = httpx.URL(scheme=place.scheme, host=address, port=place.port, path="/")
        extensions = {
            "trace": self._line.trace,
            "sni_hostname": place.host.strip("[]"),
            "target": place.target.encode(),
            "timeout": httpx.Timeout(TOTAL_SECONDS, connect=CONNECT_SECONDS).as_dict(),
        }
        headers = {"Host": place.authority, "Accept-Encoding": "identity", **request.headers}
        sent = httpx.Request(
            request.method, url, headers=headers, content=request.body, extensions=extensions
        )
        with httpx.HTTPTransport(verify=_trust(), trust_env=False, retries=0) as transport:
            response = transport.handle_request(sent)
            try:
                return _received(response)
            finally:
                response.close()


def _received(response: httpx.Response) -> Answer:
    body = bytearray()
    for part in response.iter_raw():
        body += part
        if len(body) > MAX_BODY_BYTES:
            break
    return Answer(
        status=response.status_code,
        headers=response.headers,
        body=bytes(body[:MAX_BODY_BYTES]),
        complete=len(body) <= MAX_BODY_BYTES,
    )


@functools.cache
def _trust() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
