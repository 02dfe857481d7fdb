"""Kill the real server, start it again on the same folder, and let people go on."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifecycle_core.testing.answers import Hold
from lifecycle_core.testing.http_sink import HttpSink
from tests.faults import consoles
from tests.faults.consoles import Console, Item


@dataclass
class Place:
    """A data folder, an endpoint outside of the console, and how its servers are started."""

    data: Path
    environ: dict[str, str]
    sink: HttpSink

    def start(self) -> Console:
        """Start a server."""
        return Console.start(self.data, self.environ)


@pytest.fixture
def place(tmp_path: Path, child_environment: dict[str, str]) -> Iterator[Place]:
    with HttpSink() as sink:
        yield Place(tmp_path / "data", consoles.environment(child_environment, sink), sink)


def asked_outside(place: Place, console: Console) -> Item:
    """Start a run that posts to the outside, and return its approval once it waits."""
    consoles.post_outside(place.data, place.environ, place.sink)
    invocation = console.start_post(place.sink.url)
    return console.until(lambda: next(iter(console.waiting(invocation=invocation["id"])), None))


def open_requests(console: Console) -> dict[str, str] | None:
    """Return what the demo waits for, by what binds an answer; nothing before all five requests are there."""
    asked = {item["id"]: item["request_digest"] for item in console.waiting()}
    inputs = console.get("inputs", state="pending")["items"]
    asked |= {item["id"]: item["request_identity"] for item in inputs}
    return asked if len(asked) == 5 else None


def listens(port: int) -> bool:
    """Tell whether somebody answers on a port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.soak
def test_what_waited_when_the_server_was_killed_waits_again_and_is_decided(place: Place) -> None:
    with consoles.closing(place.start()) as console:
        waited, ports = console.until(lambda: open_requests(console)), consoles.ports(place.data)
        console.kill()
    with consoles.closing(place.start()) as console:
        assert open_requests(console) == waited
        assert consoles.ports(place.data) == ports
        assert all(listens(port) for port in ports)
        [post] = [item for item in console.waiting() if item["tool"] == "http_request"]
        console.decide(post).raise_for_status()
        ended = console.ended(post["invocation"])
        assert (ended["status"], ended["disposition"]["result"]) == ("completed", {"status": 201})
        console.stop()


@pytest.mark.soak
def test_a_decision_that_was_acknowledged_before_the_kill_is_carried_out_once(place: Place) -> None:
    with consoles.closing(place.start()) as console:
        approval = asked_outside(place, console)
        told = console.decide(approval).raise_for_status().json()
        console.kill()
    with consoles.closing(place.start()) as console:
        again = console.decide(approval).raise_for_status().json()
        assert again["decisions"] == told["decisions"]
        ended = console.ended(approval["invocation"])
        # The kill came at any moment after the answer: before the post, in it, or after it.
        assert ended["status"] in ("completed", "unknown")
        assert len(place.sink.posts) <= 1
        assert len(place.sink.posts) == 1 or ended["status"] == "unknown"
        console.stop()


def test_a_post_that_was_out_when_the_server_was_killed_is_never_sent_again(place: Place) -> None:
    place.sink.hold = Hold()
    with consoles.closing(place.start()) as console:
        approval = asked_outside(place, console)
        console.decide(approval).raise_for_status()
        assert place.sink.hold.reached.wait(consoles.PATIENCE)
        console.kill()
    place.sink.hold.released.set()
    with consoles.closing(place.start()) as console:
        ended = console.ended(approval["invocation"])
        assert (ended["status"], ended["disposition"]["kind"]) == ("unknown", "unknown")
        events = console.get(f"invocations/{approval['invocation']}/events")["items"]
        calls = [event["payload"]["call"] for event in events if event["kind"] == "tool.intended"]
        assert events[-1]["payload"]["open_intents"] == calls[-1:]
        assert console.decide(approval).raise_for_status().json()["decisions"][0]["decision"] == "approve"
        assert len(place.sink.posts) == 1
        console.stop()
