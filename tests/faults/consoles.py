"""A console that runs as a process of its own, spoken to as the people of the demo; it can be killed and started again."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import httpx

from lifecycle_core.application import demo as demos_own
from lifecycle_core.testing import scenarios
from lifecycle_core.testing.http_sink import HttpSink
from tests.harness import demo as demos

PATIENCE = 120.0

type Item = dict[str, Any]


class Console:
    """One life of `manage.py demo`."""

    def __init__(self, demo: demos.Demo) -> None:
        self._demo = demo
        self._clients: dict[str, httpx.Client] = {}

    @classmethod
    def start(cls, data: Path, environ: Mapping[str, str]) -> Self:
        """Start it and wait for READY."""
        return cls(demos.start(data, arguments=(), environ=environ))

    def kill(self) -> None:
        """End it without warning."""
        os.kill(self._demo.process.pid, signal.SIGKILL)
        assert self._demo.process.wait() == -signal.SIGKILL
        self._close()

    def stop(self) -> None:
        """End it as a supervisor would; it must leave with 0."""
        self._close()
        self._demo.stop()

    def alive(self) -> bool:
        """Tell whether the process runs."""
        return self._demo.process.poll() is None

    def by(self, role: str) -> httpx.Client:
        """Return a client with the token of a role."""
        if role not in self._clients:
            headers = {"Authorization": f"Bearer {self._demo.tokens[role]}"}
            url = f"{self._demo.url}/api/v1/"
            self._clients[role] = httpx.Client(base_url=url, headers=headers, timeout=PATIENCE)
        return self._clients[role]

    def get(self, path: str, **query: Any) -> Any:
        """Read something as the owner."""
        return self.by("owner").get(path, params=query).raise_for_status().json()

    def waiting(self, **query: Any) -> list[Item]:
        """Return the approvals that nobody has decided."""
        return list(self.get("approvals", state="pending", limit=100, **query)["items"])

    def start_post(self, url: str, number: int = 1) -> Item:
        """Start an invocation that posts to a URL, once somebody approves."""
        body = {"agent": "status-post", "action": "announce", "input": {"url": url}}
        answer = self.by("host").post("invocations", json={**body, "delivery": f"outside-{number}"})
        return dict(answer.raise_for_status().json())

    def decide(self, approval: Item, decision: str = "approve") -> httpx.Response:
        """Decide an approval as the operator; the same decision has the same key every time."""
        return self.by("operator").post(
            f"approvals/{approval['id']}/decision",
            json={"decision": decision, "request_digest": approval["request_digest"]},
            headers={"Idempotency-Key": f"{decision}-{approval['id']}"},
        )

    def until[T](self, look: Callable[[], T | None]) -> T:
        """Look again whenever the feed has moved, until something is there."""
        after, end = 0, time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := look():
                return found
            after = int(self.get("feed", after=after, wait=5, limit=1000)["next"])
        raise AssertionError(f"Nothing came.\n{demos.log(self._demo.data)}")

    def ended(self, invocation: str) -> Item:
        """Wait until an invocation has ended, and return it."""
        statuses = ("completed", "failed", "invalid", "cancelled", "unknown")

        def look() -> Item | None:
            item: Item = self.get(f"invocations/{invocation}")
            return item if item["status"] in statuses else None

        return self.until(look)

    def _close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()


@contextlib.contextmanager
def closing(console: Console) -> Iterator[Console]:
    """Make sure that a console ends with the block, however that ends."""
    try:
        yield console
    finally:
        if console.alive():
            console.kill()


def environment(child_environment: Mapping[str, str], sink: HttpSink) -> dict[str, str]:
    """Return the environment of a console on the test's database whose agents may post to a sink."""
    url = child_environment.get("LIFECYCLE_DATABASE_URL")
    database = {"LIFECYCLE_DATABASE_URL": url} if url else {}
    return {"LIFECYCLE_HTTP_ORIGINS": sink.origin, **database}


def ports(data: Path) -> tuple[int, int]:
    """Return where the demo's model and its endpoint listen."""
    state = demos_own.State.of(data)
    return state.model_port, state.endpoint_port


def post_outside(data: Path, environ: Mapping[str, str], sink: HttpSink) -> None:
    """Register the demo's agents anew, beside the running server, so that they post to a sink of ours."""
    model, _ = ports(data)
    text = scenarios.agents_toml(base_url=f"http://127.0.0.1:{model}/v1", endpoint_origin=sink.origin)
    command = ["manage.py", "agents", "apply", "-", "--data", str(data)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LIFECYCLE_")}
    subprocess.run(
        [sys.executable, *command],
        cwd=demos.ROOT,
        env={**inherited, **environ},
        input=text,
        text=True,
        check=True,
        capture_output=True,
    )
