"""A request leaves at most once, to an allowed place, and says honestly whether it left."""

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lifecycle_core.contract import digests
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import OutcomeUnknown, Preparation, ToolContext, ToolError
from lifecycle_core.tools import exchange, origins
from lifecycle_core.tools.http_request import HttpRequest

TOOL = HttpRequest()


class Answers(BaseHTTPRequestHandler):
    """Answer by path and remember every request."""

    protocol_version = "HTTP/1.1"
    requests: list[tuple[str, str, dict[str, str], bytes]]

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.requests.append((self.command, self.path, dict(self.headers), body))
        route = self.path.partition("?")[0]
        if route == "/redirect":
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = {"/large": b"x" * (exchange.MAX_BODY_BYTES + 1), "/bytes": b"\xff\xfe!"}.get(
            route, b"caf\xc3\xa9"
        )
        self.send_response(404 if route == "/missing" else 200)
        if route == "/packed":
            self.send_header("Content-Encoding", "gzip")
        self.send_header(
            "Content-Type", "text/plain; charset=iso-8859-1" if route == "/latin" else "text/plain"
        )
        self.send_header("Set-Cookie", "session=1")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(
    tls: ssl.SSLContext | None = None,
) -> Iterator[tuple[int, list[tuple[str, str, dict[str, str], bytes]]]]:
    handler = type("Handler", (Answers,), {"requests": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_port, handler.requests  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def scripted(script: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve one connection as a script says and give the origin."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                script(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(5)
        assert not thread.is_alive()


def context(*allowed: str, interrupted: Callable[[], bool] = lambda: False) -> ToolContext:
    return ToolContext(call="call-7", origins=frozenset(allowed), interrupted=interrupted)


def send(at: ToolContext, **arguments: Json) -> dict[str, Any]:
    preparation = TOOL.prepare(arguments, at)
    result = TOOL.run(arguments, preparation, at)
    assert isinstance(result, dict)
    digests.canonical(result)
    return result


def refused(at: ToolContext, **arguments: Json) -> str:
    """Return the code with which a call is refused before anybody is asked."""
    with pytest.raises(ToolError) as caught:
        TOOL.prepare(arguments, at)
    return caught.value.code


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[str, str, dict[str, str], bytes]]]]:
    with serving() as (port, requests):
        yield f"http://127.0.0.1:{port}", requests


# --------------------------------------------------------------------------------------------------------- what is sent


def test_it_sends_what_was_approved_byte_for_byte(server: tuple[str, list[Any]]) -> None:
    origin, requests = server
    result = send(
        context(origin),
        method="POST",
        url=f"{origin}/a/../b//c?x=%7e&y=1+2",
        headers={"X-Kind": "note", "Content-Type": "text/plain"},
        body="grüße",
    )
    (method, path, headers, body) = requests[0]
    assert (method, path, body.decode()) == ("POST", "/a/../b//c?x=%7e&y=1+2", "grüße")
    assert headers["Host"] == origin.removeprefix("http://")
    assert headers["Idempotency-Key"] == "call-7"
    assert headers["X-Kind"] == "note"
    assert headers["User-Agent"] == "lifecycle-console"
    assert not {"Authorization", "Cookie"} & set(headers)
    assert result == {
        "status": 200,
        "headers": {"content-type": "text/plain"},
        "body": "café",
        "truncated": False,
    }


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_it_knows_the_common_methods(server: tuple[str, list[Any]], method: str) -> None:
    origin, requests = server
    assert send(context(origin), method=method, url=origin)["status"] == 200
    assert [(request[0], request[1]) for request in requests] == [(method, "/")]


def test_a_redirect_is_returned_and_not_followed(server: tuple[str, list[Any]]) -> None:
    origin, requests = server
    result = send(context(origin), method="GET", url=f"{origin}/redirect")
    assert (result["status"], result["headers"]) == (302, {"location": "/elsewhere"})
    assert len(requests) == 1


def test_an_error_status_is_an_answer(server: tuple[str, list[Any]]) -> None:
    assert send(context(server[0]), method="GET", url=f"{server[0]}/missing")["status"] == 404


def test_a_long_body_is_cut_and_says_so(server: tuple[str, list[Any]]) -> None:
    result = send(context(server[0]), method="GET", url=f"{server[0]}/large")
    assert (len(result["body"]), result["truncated"]) == (exchange.MAX_BODY_BYTES, True)


def test_bodies_become_text(server: tuple[str, list[Any]]) -> None:
    assert send(context(server[0]), method="GET", url=f"{server[0]}/latin")["body"] == "cafÃ©"
    assert send(context(server[0]), method="GET", url=f"{server[0]}/bytes")["body"] == "\ufffd\ufffd!"
    packed = send(context(server[0]), method="GET", url=f"{server[0]}/packed")
    assert (packed["body"], packed["truncated"]) == ("", True)


def test_proxies_of_the_environment_are_ignored(
    server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert send(context(server[0]), method="GET", url=server[0])["status"] == 200


def test_people_are_shown_the_request(server: tuple[str, list[Any]]) -> None:
    origin = server[0]
    preparation = TOOL.prepare(
        {"method": "PUT", "url": f"{origin}/x", "body": "é", "headers": {"X-A": "b"}}, context(origin)
    )
    assert preparation.preview == {
        "kind": "request",
        "method": "PUT",
        "url": f"{origin}/x",
        "host": "127.0.0.1",
        "origin": origin,
        "headers": {"X-A": "b"},
        "body_bytes": 2,
    }


# ------------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example/",
        "http://api.example:8080/",
        "http://api.example.evil.test/",
        "http://evil.test/api.example",
        "http://xapi.example/",
        "http://2130706433/",
        "http://127.0.0.1/",
        "http://[::1]/",
    ],
)
def test_an_origin_that_is_not_named_is_refused(url: str) -> None:
    assert refused(context("http://api.example"), method="GET", url=url) == "ORIGIN_NOT_ALLOWED"


@pytest.mark.parametrize("url", ["http://api.example", "HTTP://API.example:80/x", "http://api.example/?q"])
def test_an_origin_is_compared_with_its_port_and_in_lower_case(url: str) -> None:
    TOOL.prepare({"method": "GET", "url": url}, context("http://API.example"))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example",
        "//api.example/",
        "ftp://api.example/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://user@api.example/",
        "http://api.example@evil.test/",
        "http://api.example#@evil.test/",
        "http://api.example/#fragment",
        "http://api.example\\@evil.test/",
        "http://api.example/a b",
        "http://api.example/\r\nX: y",
        "http://api.example/\t",
        " http://api.example/",
        "http:///api.example",
        "http:api.example",
        "http://",
        "http://api.example:0/",
        "http://api.example:99999/",
        "http://api.example:/",
        "http://-api.example/",
        "http://api.example./",
        "http://\u0430pi.example/",
        "http://api\u3002example/",
        "http://api.example/caf\u00e9",
        "http://api.example/\ud800",
        "http://api%2eexample/",
        "http://[::1%25eth0]/",
        "http://[::1/",
        "http://api.example/<x>",
        "http://api.example/" + "x" * 9000,
    ],
)
def test_a_url_that_two_readers_could_take_differently_is_refused(url: str) -> None:
    assert refused(context("http://api.example", "http://evil.test"), method="GET", url=url) == "URL_REFUSED"


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0177.0.0.1", "256.1.1.1"])
def test_numbers_that_resolvers_take_for_addresses_are_refused_even_when_named(host: str) -> None:
    assert refused(context(f"http://{host}"), method="GET", url=f"http://{host}/") == "URL_REFUSED"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Authorization",
            "authorization",
            "Proxy-Authorization",
            "Cookie",
            "X-Api-Key",
            "X-Auth-Token",
            "api-key",
        ),
        *(
            "Host",
            "Connection",
            "Transfer-Encoding",
            "Content-Length",
            "TE",
            "Upgrade",
            "Expect",
            "Keep-Alive",
            "Trailer",
        ),
        *(
            "Idempotency-Key",
            "User-Agent",
            "X-Forwarded-For",
            "Forwarded",
            "Via",
            "X_Api_Key",
            "X:Y",
            "",
            "a b",
            "x\n",
            "é",
        ),
    ],
)
def test_a_header_that_is_not_the_agents_to_set_is_refused(name: str) -> None:
    at = context("http://api.example")
    assert refused(at, method="GET", url="http://api.example/", headers={name: "x"}) == "HEADER_REFUSED"


@pytest.mark.parametrize("value", ["a\r\nX-B: c", "a\n", "\0", "é", " a", "a ", "x" * 5000, 1, None])
def test_a_header_value_is_one_line_of_ascii(value: Json) -> None:
    at = context("http://api.example")
    assert refused(at, method="GET", url="http://api.example/", headers={"X-A": value}) == "HEADER_REFUSED"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"method": "get"}, "ARGUMENTS_INVALID"),
        ({"method": "CONNECT"}, "ARGUMENTS_INVALID"),
        ({"method": "GET", "body": "x"}, "ARGUMENTS_INVALID"),
        ({"method": "POST", "body": 1}, "ARGUMENTS_INVALID"),
        ({"method": "POST", "body": "\ud800"}, "ARGUMENTS_INVALID"),
        ({"method": "POST", "body": "x" * (1 << 20) + "x"}, "TOO_LARGE"),
        ({"method": "POST", "headers": []}, "ARGUMENTS_INVALID"),
        ({"method": "POST", "headers": {"X-A": "1", "x-a": "2"}}, "HEADER_REFUSED"),
    ],
)
def test_other_arguments_are_checked_before_anybody_is_asked(arguments: dict[str, Json], code: str) -> None:
    assert refused(context("http://api.example"), url="http://api.example/", **arguments) == code


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",  # noqa: S104
            "224.0.0.1",
        ),
        *(
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
        ),
        *(
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001:0:4136:e378:8000:63bf:80ff:fffe",
        ),
    ],
)
def test_an_address_that_the_world_cannot_reach_is_private(address: str) -> None:
    assert not origins.is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_an_address_of_the_world_is_public(address: str) -> None:
    assert origins.is_public(ipaddress.ip_address(address))


def resolves_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Answer look-ups with these addresses, one list after the other, and tell which were asked."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, **more: Any) -> list[Any]:
        if host.replace(".", "").isdigit():
            return real(host, port, *rest, **more)
        asked.append(host)
        addresses = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(origins.socket, "getaddrinfo", look_up)  # type: ignore[attr-defined]
    return asked


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["169.254.169.254"]])
def test_a_name_that_leads_to_a_private_address_is_refused(
    server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    resolves_to(monkeypatch, addresses)
    port = server[0].rpartition(":")[2]
    origin = f"http://api.example:{port}"
    with pytest.raises(ToolError) as caught:
        send(context(origin), method="GET", url=origin)
    assert caught.value.code == "PRIVATE_ADDRESS"
    assert server[1] == []


def test_a_private_address_is_used_where_its_own_origin_is_named(
    server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = resolves_to(monkeypatch, ["127.0.0.1"], ["10.0.0.1"])
    origin = f"http://api.example:{server[0].rpartition(':')[2]}"
    assert send(context(origin, server[0]), method="GET", url=origin)["status"] == 200
    assert asked == ["api.example"]  # looked up once: a second answer could be another
    assert server[1][0][2]["Host"] == origin.removeprefix("http://")


def test_localhost_may_be_named_as_it_is(server: tuple[str, list[Any]]) -> None:
    origin = f"http://localhost:{server[0].rpartition(':')[2]}"
    assert send(context(origin), method="GET", url=origin)["status"] == 200


# ----------------------------------------------------------------------------------------------------- whether it left


def test_a_refused_connection_was_not_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(ToolError) as caught:
        send(context(origin), method="POST", url=origin)
    assert caught.value.code == "NOT_SENT"


def test_a_name_that_nobody_knows_was_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "unknown")

    monkeypatch.setattr(origins.socket, "getaddrinfo", look_up)  # type: ignore[attr-defined]
    with pytest.raises(ToolError) as caught:
        send(context("http://api.example"), method="POST", url="http://api.example/")
    assert caught.value.code == "NOT_SENT"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 2", HEAD, HEAD + b"half", b"nonsense\r\n\r\n"])
def test_a_dropped_answer_leaves_the_outcome_unknown(answer: bytes) -> None:
    def script(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    with scripted(script) as origin, pytest.raises(OutcomeUnknown):
        send(context(origin), method="POST", url=origin, body="x")


def test_a_connection_that_dies_while_the_request_goes_out_leaves_the_outcome_unknown() -> None:
    def script(connection: socket.socket) -> None:
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with scripted(script) as origin, pytest.raises(OutcomeUnknown):
        send(context(origin), method="POST", url=origin, body="x" * (1 << 20))


def trickle(connection: socket.socket, released: threading.Event) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while not released.wait(0.02):
        try:
            connection.sendall(b"x")
        except OSError:
            return


def silent(connection: socket.socket, released: threading.Event) -> None:
    connection.recv(65536)
    while connection.recv(65536):
        pass


@pytest.mark.parametrize("behaviour", [silent, trickle])
def test_an_interrupted_call_ends_within_a_second(
    behaviour: Callable[[socket.socket, threading.Event], None],
) -> None:
    asked, released = threading.Event(), threading.Event()

    def script(connection: socket.socket) -> None:
        asked.set()
        behaviour(connection, released)

    with scripted(script) as origin:
        began: list[float] = []

        def interrupted() -> bool:
            if asked.is_set() and not began:
                began.append(time.monotonic())
            return bool(began)

        with pytest.raises(OutcomeUnknown):
            send(context(origin, interrupted=interrupted), method="GET", url=origin)
        assert time.monotonic() - began[0] < 1
    # The far side saw the connection end, or `scripted` would still wait for it.


def test_a_call_interrupted_before_it_was_sent_sends_nothing(
    server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up, go_on = threading.Event(), threading.Event()

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        looked_up.set()
        go_on.wait(5)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(origins.socket, "getaddrinfo", look_up)  # type: ignore[attr-defined]
    origin = f"http://localhost:{server[0].rpartition(':')[2]}"
    with pytest.raises(ToolError) as caught:
        send(context(origin, interrupted=looked_up.is_set), method="POST", url=origin)
    assert caught.value.code == "NOT_SENT"
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "http-request":
            thread.join(5)
    assert server[1] == []


def test_an_answer_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "TOTAL_SECONDS", 0.3)
    released = threading.Event()
    with scripted(lambda connection: trickle(connection, released)) as origin, pytest.raises(OutcomeUnknown):
        send(context(origin), method="GET", url=origin)


def test_what_became_of_a_call_cannot_be_asked() -> None:
    assert TOOL.reconcile({}, Preparation(), context()) == "unknown"


# --------------------------------------------------------------------------------------------------------------------- TLS


def certificate(folder: Path, name: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / f"{name}.pem"
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize(("name", "works"), [("localhost", True), ("other.example", False)])
def test_the_certificate_must_be_that_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, works: bool
) -> None:
    pem = certificate(tmp_path, name)
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(pem)
    monkeypatch.setattr(exchange, "_trust", lambda: ssl.create_default_context(cafile=str(pem)))
    with serving(server_side) as (port, requests):
        origin = f"https://localhost:{port}"
        if works:
            assert send(context(origin), method="GET", url=origin)["status"] == 200
        else:
            with pytest.raises(ToolError) as caught:
                send(context(origin), method="GET", url=origin)
            assert caught.value.code == "NOT_SENT"
            assert requests == []
