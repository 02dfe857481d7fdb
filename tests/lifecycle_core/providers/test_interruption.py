"""A blocked read is freed at once from another thread, and only that one; nothing here waits for time to pass."""

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lifecycle_core.contract import ports
from lifecycle_core.providers.chat_completions import ChatCompletions
from lifecycle_core.testing import answers, faults
from lifecycle_core.testing.answers import Answer, Hold, Script, Stream
from lifecycle_core.testing.carriers import MemoryCarrier
from tests.lifecycle_core.providers.conftest import BEGIN, KEY, Chat, Listening

type Start = Callable[[Script], Chat]

CANCELLED = ports.ProviderFailed(code="PROVIDER_CANCELLED", detail="ABORTED: the call was cancelled")


class Running:
    """A session that runs in a thread of its own."""

    def __init__(self, session: ports.NativeSession) -> None:
        self.session = session
        self.carrier = Listening()
        self.thread = threading.Thread(
            target=session.run, args=(BEGIN, self.carrier, {"secret": KEY}), daemon=True
        )
        self.thread.start()

    def events(self) -> list[ports.NativeEvent]:
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.carrier.events


@pytest.mark.parametrize("fault", [faults.slow_first_byte, faults.stalled])
def test_cancel_frees_a_read_that_is_blocked(chat: Start, fault: Callable[[Hold], faults.Fault]) -> None:
    hold = Hold()
    running = Running(chat(faults.with_fault(lambda request: Answer(text="hi"), fault(hold))).open())
    assert hold.reached.wait(10)
    running.session.cancel()
    assert running.events() == [CANCELLED]
    hold.released.set()


def test_cancel_leaves_the_other_sessions_of_the_server_alone(chat: Start) -> None:
    holds = iter([Hold(), Hold()])
    reached: list[Hold] = []

    def script(request: object) -> Stream:
        reached.append(next(holds))
        events = [answers.event(answers.chunk({"content": "hi"}, "stop")), answers.DONE]
        return Stream([events[0], reached[-1], events[1]])

    started = chat(script)
    first = Running(started.open())
    while not reached:
        assert first.thread.is_alive()
    assert reached[0].reached.wait(10)
    second = Running(started.open())
    while len(reached) < 2:
        assert second.thread.is_alive()
    assert reached[1].reached.wait(10)
    first.session.cancel()
    assert first.events() == [CANCELLED]
    reached[1].released.set()
    assert second.events() == [ports.TurnEnded()]
    reached[0].released.set()


def test_a_session_that_was_cancelled_before_it_runs_asks_nothing(chat: Start) -> None:
    started = chat(lambda request: Answer(text="hi"))
    session = started.open()
    session.cancel()
    carrier = MemoryCarrier()
    session.run(BEGIN, carrier, {"secret": KEY})
    assert carrier.events == [CANCELLED]
    assert not started.server.received


def test_a_late_cancel_does_not_hit_whoever_uses_the_connection_now(chat: Start) -> None:
    hold = Hold()
    replies = iter([Answer(text="one"), None])

    def script(request: object) -> answers.Reply:
        reply = next(replies)
        events = [answers.event(answers.chunk({"content": "two"}, "stop")), answers.DONE]
        return reply or Stream([events[0], hold, events[1]])

    started = chat(script)
    first = Running(started.open())
    assert first.events() == [ports.TurnEnded()]
    second = Running(started.open())
    assert hold.reached.wait(10)
    first.session.cancel()
    hold.released.set()
    assert second.events() == [ports.TurnEnded()]
    assert len({received.connection for received in started.server.received}) == 1


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "key.pem").write_bytes(encoded)
    return tmp_path / "cert.pem", tmp_path / "key.pem"


@pytest.fixture
def silent(certificate: tuple[Path, Path]) -> Iterator[tuple[str, threading.Event]]:
    """Serve TLS, read a request and never answer; tells the base URL and when the request is read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    read, over = threading.Event(), threading.Event()

    def serve(listener: socket.socket) -> None:
        # A client that does not trust the certificate leaves in the middle of the handshake.
        with (
            contextlib.suppress(ssl.SSLError),
            context.wrap_socket(listener.accept()[0], server_side=True) as connection,
        ):
            connection.recv(65536)
            read.set()
            over.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/v1", read
    over.set()


def test_cancel_frees_a_blocked_read_under_tls(
    silent: tuple[str, threading.Event], certificate: tuple[Path, Path]
) -> None:
    base_url, read = silent
    provider = ChatCompletions(ssl_context=ssl.create_default_context(cafile=str(certificate[0])))
    route = ports.ModelRoute(model="m", base_url=base_url, configuration={})
    running = Running(
        provider.open(
            ports.SessionRequest(affinity="", instructions="", opaque_identity="", route=route, tools=())
        )
    )
    assert read.wait(10)
    running.session.cancel()
    assert running.events() == [CANCELLED]
    provider.dispose()


def test_a_certificate_that_nobody_vouches_for_is_refused(silent: tuple[str, threading.Event]) -> None:
    provider = ChatCompletions()
    route = ports.ModelRoute(model="m", base_url=silent[0], configuration={})
    running = Running(
        provider.open(
            ports.SessionRequest(affinity="", instructions="", opaque_identity="", route=route, tools=())
        )
    )
    (event,) = running.events()
    assert isinstance(event, ports.ProviderFailed)
    assert event.detail.startswith("TRANSPORT: ")
    assert running.carrier.failure is not None
    assert not running.carrier.failure.retryable, "nobody will vouch for it the next time either"
    provider.dispose()
