"""A harness that is killed, dies, cannot start, or whose model fails; and that nothing of it stays."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.providers.dsh import launcher, storage
from lifecycle_core.providers.dsh.bridge import Bridge
from lifecycle_core.testing import answers, messages
from lifecycle_core.testing.answers import Answer, Call, Hold, Refusal, Script, Stream
from lifecycle_core.testing.chat_requests import ChatRequest
from tests.lifecycle_core.providers.dsh.conftest import BEGIN, KEY, Desk, Leaving, needs_harness

pytestmark = needs_harness

type Start = Callable[[Script], Desk]

CANCELLED = ports.ProviderFailed(code="PROVIDER_CANCELLED", detail="ABORTED: the call was cancelled")
ANSWER = Answer(text="That is all.")


def process(session: Any) -> subprocess.Popen[str]:
    found: subprocess.Popen[str] = session._harness.client._proc
    return found


def is_gone(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, 0)
        return False
    return True


def bridges_of(patch: pytest.MonkeyPatch) -> list[Bridge]:
    """Return the bridges that are made from now on."""
    bridges: list[Bridge] = []
    make = Bridge.__init__

    def made(bridge: Bridge, request: ports.SessionRequest) -> None:
        make(bridge, request)
        bridges.append(bridge)

    patch.setattr(Bridge, "__init__", made)
    return bridges


def broken(request: ChatRequest) -> Stream:
    return Stream([*messages.events(ANSWER, request, {})[:-1]])


def test_cancel_frees_a_blocked_turn_at_once_and_leaves_no_process(desk: Start) -> None:
    hold = Hold()
    started = desk(lambda request: Stream([hold]))
    session, carrier = started.open(), Leaving()
    pid = process(session).pid
    thread = threading.Thread(target=session.run, args=(BEGIN, carrier, {"secret": KEY}), daemon=True)
    thread.start()
    assert hold.reached.wait(10)
    began = time.monotonic()
    session.cancel()
    thread.join(5)
    took = time.monotonic() - began
    hold.released.set()
    assert not thread.is_alive()
    assert took < 1
    assert carrier.events == [CANCELLED]
    session.dispose()
    session.dispose()
    assert is_gone(pid)


def test_a_cancel_while_a_call_runs_frees_the_turn_with_the_next_thing_it_asks(desk: Start) -> None:
    started = desk(lambda request: Answer(calls=(Call(tool="look", arguments={}),)))
    session = started.open()

    def look(arguments: dict[str, Any]) -> str:
        session.cancel()
        return "seen"

    assert started.run(session, carrier=Leaving({"look": look})).events == [CANCELLED]
    assert len(started.server.received) == 1


def test_a_harness_that_exits_by_itself_is_told_so(desk: Start) -> None:
    started = desk(lambda request: Answer(calls=(Call(tool="look", arguments={}),)))
    session = started.open()

    def look(arguments: dict[str, Any]) -> str:
        process(session).send_signal(signal.SIGKILL)
        return "seen"

    carrier = started.run(session, carrier=Leaving({"look": look}))
    assert isinstance(carrier.events[0], ports.ProcessExited)
    assert session._bridge.token not in carrier.events[0].detail  # type: ignore[attr-defined]


def test_the_harness_dies_with_whoever_started_it() -> None:
    reading, writing = os.pipe()
    script = (
        "import os, subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-I', {launcher.__file__!r}, str(os.getpid()), '/bin/sleep', '60'],"
        f" pass_fds=({writing},), stdin=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(writing,)
    ) as parent:
        os.close(writing)
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        while Path(f"/proc/{pid}/comm").read_text().strip() != "sleep":
            pass
        parent.kill()
        # The pipe ends when the last process that holds it is gone.
        assert os.read(reading, 1) == b""
    os.close(reading)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (lambda request: Refusal(status=401, message=f"the key {KEY} is not valid"), "AUTH"),
        (broken, "STREAM_CLOSED"),
    ],
)
def test_a_model_that_fails_fails_the_turn_and_the_harness_sees_nothing_of_it(
    desk: Start, script: Script, code: str
) -> None:
    started = desk(script)
    session = started.open()
    carrier = started.run(session)
    (event,) = carrier.events
    assert isinstance(event, ports.ProviderFailed)
    assert event.detail.split(":")[0] == code
    assert KEY not in event.detail
    assert len(started.server.received) == 1
    log = storage.log(session._home, session.opaque_identity)  # type: ignore[attr-defined]
    assert storage.held(log).answers == 0


def test_a_session_log_that_is_lost_makes_the_turn_uncertain(desk: Start) -> None:
    started = desk(lambda request: Answer(calls=(Call(tool="look", arguments={}),)))
    session = started.open()

    class Interrupted(Leaving):
        def call_model(self, perform: Any, conversation: Any = None) -> ports.ModelAnswer:
            if self.answers:
                for found in session._home.rglob(storage.LOG):  # type: ignore[attr-defined]
                    found.write_text("{")
                raise ports.TurnInterrupted
            return super().call_model(perform, conversation)

    carrier = started.run(session, carrier=Interrupted({"look": lambda arguments: "seen"}))
    (event,) = carrier.events
    assert isinstance(event, ports.ProviderUncertain)
    assert event.phase == "result"


@pytest.mark.parametrize("fault", ["__init__", "start"])
def test_a_session_that_cannot_be_opened_leaves_no_port_thread_or_process(
    desk: Start, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    from lifecycle_core.providers.dsh.harness import Harness  # Only where the extra is installed.

    bridges = bridges_of(monkeypatch)
    processes: list[subprocess.Popen[str]] = []
    start = Harness.start

    def fails(harness: Harness, *given: Any, **options: Any) -> None:
        if fault == "start":
            start(harness)
            processes.append(harness._client._proc)
        raise RuntimeError("it does not start")

    monkeypatch.setattr(Harness, fault, fails)
    with pytest.raises(RuntimeError, match="it does not start"):
        desk(lambda request: ANSWER).open()
    (bridge,) = bridges
    bridge._thread.join(5)
    assert not bridge._thread.is_alive()
    assert bridge._server.fileno() == -1
    assert len(processes) == (fault == "start")
    assert all(is_gone(process.pid) for process in processes)


class Stop:
    """What stops an opening, once there is something to stop."""

    def __init__(self) -> None:
        self._named = threading.Event()
        self._stop: Callable[[], None] = lambda: None

    def __call__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._named.set()

    def now(self) -> None:
        assert self._named.wait(10)
        self._stop()


class Silent:
    """Harnesses that say nothing from some moment on; `reached` tells when one is waited for."""

    def __init__(self, patch: pytest.MonkeyPatch, at: str) -> None:
        from lifecycle_core.providers.dsh import harness  # Only where the extra is installed.

        self.reached = threading.Event()
        self.processes: list[subprocess.Popen[str]] = []
        method = {"start": "initialize", "restore": "resume_session"}[at]
        waited_for = getattr(harness._Client, method)

        def wait(made: Any, *given: Any, **options: Any) -> Any:
            self.processes.append(made._proc)
            os.killpg(made._proc.pid, signal.SIGSTOP)
            self.reached.set()
            return waited_for(made, *given, **options)

        patch.setattr(harness._Client, method, wait)


@pytest.mark.parametrize("at", ["start", "restore"])
def test_an_opening_that_is_interrupted_ends_at_once_and_leaves_no_port_or_process(
    desk: Start, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    started = desk(lambda request: ANSWER)
    session = started.open()
    started.run(session)
    silent, stop, bridges = Silent(monkeypatch, at), Stop(), bridges_of(monkeypatch)
    faults: list[BaseException] = []

    def open_it() -> None:
        request = started.request(session.opaque_identity, on_interrupt=stop)
        try:
            started.headless.restore(request) if at == "restore" else started.headless.open(request)
        except Exception as fault:  # noqa: BLE001  (that it ends is what counts, and in what words is the provider's)
            faults.append(fault)

    thread = threading.Thread(target=open_it, daemon=True)
    thread.start()
    assert silent.reached.wait(10)
    stop.now()
    thread.join(20)  # Less than the 30 seconds that a start may take.
    assert not thread.is_alive()
    assert len(faults) == 1
    assert [is_gone(process.pid) for process in silent.processes] == [True]
    (bridge,) = bridges
    assert bridge._server.fileno() == -1


def test_nobody_waits_for_the_answer_of_a_harness_that_was_ended(desk: Start) -> None:
    harness = desk(lambda request: ANSWER).open()._harness  # type: ignore[attr-defined]
    harness.kill()
    with pytest.raises(Exception, match="was ended"):
        harness._client.request("shutdown", None, response_model=dict, timeout_seconds=20.0)
    harness.close()


def test_an_opening_that_is_interrupted_before_it_begins_starts_no_process(
    desk: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*given: Any, **options: Any) -> Any:
        raise AssertionError("a process was started")

    started, bridges = desk(lambda request: ANSWER), bridges_of(monkeypatch)
    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(Exception, match="was ended"):
        started.open(on_interrupt=lambda stop: stop())
    (bridge,) = bridges
    assert bridge._server.fileno() == -1


def test_a_harness_that_does_not_reach_the_tools_does_not_open_a_session(
    desk: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bridge, "tools_url", "http://127.0.0.1:9/mcp")
    started = desk(lambda request: ANSWER)
    with contextlib.suppress(Exception):
        carrier = started.run(started.open())
        assert isinstance(carrier.events[0], ports.ProviderFailed)
    assert not started.server.received


@pytest.mark.parametrize("cut", [0, 5], ids=["whole", "split"])
def test_a_secret_that_begins_with_its_block_never_gets_into_the_native_session(
    desk: Start, cut: int
) -> None:
    def script(request: ChatRequest) -> Stream:
        begin, *_, reason, end = messages.events(ANSWER, request, {})
        block = {"type": "text", "text": f"It is {KEY[:cut]}"}
        delta = {"type": "text_delta", "text": KEY[cut:]}
        said = [
            messages.event("content_block_start", index=0, content_block=block),
            messages.event("content_block_delta", index=0, delta=delta).replace(
                b'"delta": ', b'"delta":\ndata: '
            ),
            messages.event("content_block_stop", index=0),
        ]
        return Stream([begin, *said, reason, end])

    started = desk(script)
    session, carrier = started.open(), Leaving()
    carrier.secrets = (KEY,)
    (event,) = started.run(session, carrier=carrier).events
    assert isinstance(event, ports.ProviderFailed)
    assert "secret" in event.detail
    log = storage.log(session._home, session.opaque_identity)  # type: ignore[attr-defined]
    assert storage.held(log).answers == 0


@pytest.mark.parametrize(
    "answer",
    [
        Answer(text=f"My key is {KEY}."),
        Answer(reasoning=f"Nobody must see {KEY}.", text="Hello"),
        Answer(calls=(Call(tool="send", arguments={"to": KEY}),)),
    ],
    ids=["text", "reasoning", "arguments"],
)
def test_an_answer_with_the_agents_secret_never_gets_into_the_native_session(
    desk: Start, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "parts", lambda text: [text[at : at + 4] for at in range(0, len(text), 4)])
    started = desk(lambda request: answer)
    session, carrier = started.open(), Leaving()
    carrier.secrets = (KEY,)
    started.run(session, carrier=carrier)
    assert [type(event) for event in carrier.events] == [ports.ProviderFailed]
    home = session._home  # type: ignore[attr-defined]
    kept = [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert kept == []
