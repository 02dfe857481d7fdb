"""The console as a program sees it: start, wait for what happens, decide."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import httpx

from tests.harness.demo import Demo

type Item = dict[str, Any]

WAIT_SECONDS = 5
LOOKS = 12
ENDED = frozenset({"completed", "failed", "invalid", "cancelled"})


class Rest:
    """Speak with one token. Waiting goes by the feed, so nothing sleeps."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    @classmethod
    @contextmanager
    def of(cls, demo: Demo, role: str) -> Iterator[Self]:
        """Speak as the demo's token of a role."""
        headers = {"Authorization": f"Bearer {demo.tokens[role]}"}
        with httpx.Client(base_url=f"{demo.url}/api/v1", headers=headers, timeout=20) as http:
            yield cls(http)

    def get(self, path: str, **query: Any) -> Item:
        answer = self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def post(self, path: str, body: Item) -> httpx.Response:
        return self.http.post(path, json=body)

    def start(self, agent: str, action: str, value: Any, delivery: str) -> str:
        """Start an invocation; return its id."""
        body = {"agent": agent, "action": action, "input": value, "delivery": delivery}
        answer = self.post("/invocations", body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def invocation(self, invocation: str) -> Item:
        return self.get(f"/invocations/{invocation}")

    def approvals(self, invocation: str, state: str = "pending") -> list[Item]:
        """Return approvals in the order of their calls."""
        found = self.get("/approvals", invocation=invocation, state=state)["items"]
        return sorted(found, key=lambda item: item["call_id"])

    def inputs(self, invocation: str, state: str = "pending") -> list[Item]:
        return list(self.get("/inputs", invocation=invocation, state=state)["items"])

    def decide(self, approval: Item, decision: str, **more: Any) -> httpx.Response:
        """Decide on what the approval's item shows."""
        body = {"decision": decision, "request_digest": approval["request_digest"], **more}
        return self.post(f"/approvals/{approval['id']}/decision", body)

    def until[T](self, invocation: str, look: Callable[[], T]) -> T:
        """Look again after every fact of an invocation until there is something to see."""
        after = 0
        for _ in range(LOOKS):
            page = self.get("/feed", after=after, wait=WAIT_SECONDS, invocation=invocation)
            after = int(page["next"])
            if found := look():
                return found
            if not page["items"] and self.invocation(invocation)["status"] in ENDED:
                break
        raise AssertionError(f"It did not happen: {self.invocation(invocation)}")

    def until_asked(self, invocation: str, count: int = 1) -> list[Item]:
        """Wait until so many approvals of an invocation are open."""

        def look() -> list[Item]:
            open_ones = self.approvals(invocation)
            return open_ones if len(open_ones) >= count else []

        return self.until(invocation, look)

    def until_questioned(self, invocation: str) -> Item:
        """Wait for the question of an invocation."""
        return self.until(invocation, lambda: self.inputs(invocation))[0]

    def until_status(self, invocation: str, status: str) -> Item:
        """Wait until an invocation has a status."""

        def look() -> Item:
            item = self.invocation(invocation)
            return item if item["status"] == status else {}

        return self.until(invocation, look)

    def retire(self, delivery: str, identity: str) -> Item:
        """Retire a delivery; return its tombstone."""
        answer = self.post(f"/deliveries/{delivery}/retire", {"authorization": identity})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())
