"""The people of the demo's four runs: what each of them sends, and what they were told.

They are stubborn and honest: whatever they sent and got no answer to before a crash they send again, unchanged.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from lifecycle_core.access import roles
from lifecycle_core.application import approvals, cancellations, inputs, invocations, queries
from lifecycle_core.application.resources import ApprovalItem
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.status import Status
from tests.faults.diary import Diary, Line

TENANT: Final = "default"
HOST: Final = Actor(tenant=TENANT, name="user:host", permissions=roles.PERMISSIONS["host"])
OPERATOR: Final = Actor(tenant=TENANT, name="user:operator", permissions=roles.PERMISSIONS["operator"])

type Sent = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One run: what is started, how its approvals are decided, what its question is answered.

    `answer` is what is sent to the question; nothing declines it. A verdict may be to cancel the whole run. `keyed` tells
    whether people send idempotency keys; without one, a repeated decision is known by its content.
    """

    name: str
    agent: str
    action: str
    input: Callable[[str], Json]
    verdict: Callable[[ApprovalItem], Sent]
    answer: Json = None
    keyed: bool = True
    ends: Status = Status.COMPLETED


def _approve(_: ApprovalItem) -> Sent:
    return {"decision": "approve"}


def _respond(_: ApprovalItem) -> Sent:
    return {"decision": "respond", "result": "I told them by telephone."}


def _cancel(_: ApprovalItem) -> Sent:
    return {"cancel": "DELIVERY_CANCELLED"}


def _review(item: ApprovalItem) -> Sent:
    """Approve the findings, edit the things to do."""
    arguments: Any = item.arguments
    if arguments["path"] != "reviews/todo.md":
        return {"decision": "approve"}
    return {"decision": "edit", "arguments": {**arguments, "content": "# To do\n\nAsk Ada.\n"}}


def _notice(item: ApprovalItem) -> Sent:
    """Refuse the first, long draft."""
    arguments: Any = item.arguments
    if "Dear customer" in arguments["content"]:
        return {"decision": "reject", "reason": "Too long."}
    return {"decision": "approve"}


def _scenarios() -> Iterator[Scenario]:
    review = Scenario(
        name="dependency-review",
        agent="dependency-review",
        action="review",
        input=lambda _: {"focus": "everything"},
        verdict=_review,
    )
    notes = Scenario(
        name="release-notes",
        agent="release-notes",
        action="write-notes",
        input=lambda _: {"version": "2.4.0"},
        verdict=_approve,
        answer={"audience": "customers", "highlight": "Two-hour windows"},
        keyed=False,
    )
    notice = Scenario(
        name="customer-notice",
        agent="customer-notice",
        action="draft",
        input=lambda _: {"topic": "Planned maintenance"},
        verdict=_notice,
        answer="formal",
    )
    post = Scenario(
        name="status-post",
        agent="status-post",
        action="announce",
        input=lambda url: {"url": url},
        verdict=_approve,
    )
    yield from (review, notes, notice, post)
    yield replace(review, name="dependency-review, cancelled", verdict=_cancel, ends=Status.CANCELLED)
    yield replace(notes, name="release-notes, declined", answer=None)
    yield replace(post, name="status-post, answered in its place", verdict=_respond, keyed=False)


SCENARIOS: Final[Mapping[str, Scenario]] = {scenario.name: scenario for scenario in _scenarios()}
DEMO: Final = tuple(name for name, scenario in SCENARIOS.items() if name == scenario.agent)
"""The runs of the demo; the others differ from them in what people say."""


class People:
    """Start a run, decide and answer whatever is open; `remembered` are the lines of earlier incarnations."""

    def __init__(self, scenario: Scenario, url: str, diary: Diary, remembered: list[Line]) -> None:
        self._scenario = scenario
        self._url = url
        self._diary = diary
        self._remembered = remembered

    def begin(self) -> None:
        """Start the run, or send again what got no answer."""
        told = {line["request"] for line in self._remembered if line["kind"] == "told"}
        sent = [line for line in self._remembered if line["kind"] == "sends"]
        for line in sent:
            if line["request"] not in told:
                self._send(line["what"], line["request"], line["sent"])
        if not sent:
            value = self._scenario.input(self._url)
            body = {"agent": self._scenario.agent, "action": self._scenario.action, "input": value}
            self._send("start", "the start", {**body, "delivery": "delivery-1", "key": "start-1"})

    def act(self) -> bool:
        """Look at what is open and settle the oldest; false when nothing is."""
        waiting = queries.approvals(OPERATOR, state="pending").items
        asking = queries.inputs(OPERATOR, state="pending").items
        for item in waiting:
            self._diary.write("saw", request=item.id, what="approval", digest=item.request_digest)
        for question in asking:
            self._diary.write("saw", request=question.id, what="input", digest=question.request_identity)
        if asking:
            self._reply(asking[-1].id)
        elif waiting:
            self._judge(min(waiting, key=lambda item: (item.requested_at, str(item.arguments))))
        return bool(waiting or asking)

    def _reply(self, question: str) -> None:
        if self._scenario.answer is None:
            self._send("decline", question, {"reason": "Not now.", **self._key(question)})
        else:
            self._send("answer", question, {"content": self._scenario.answer, **self._key(question)})

    def _judge(self, item: ApprovalItem) -> None:
        sent = {**self._scenario.verdict(item), **self._key(item.id)}
        if "cancel" in sent:
            self._send("cancel", item.invocation, {"reason": sent.pop("cancel"), **sent})
        else:
            self._send("decide", item.id, {"request_digest": item.request_digest, **sent})

    def _key(self, request: str) -> Sent:
        return {"key": f"key-{request}"} if self._scenario.keyed else {}

    def _send(self, what: str, request: str, sent: Sent) -> None:
        self._diary.write("sends", what=what, request=request, sent=sent)
        self._diary.write("told", what=what, request=request, **SENDING[what](request, sent))


def _start(_: str, sent: Sent) -> Sent:
    item = invocations.start(HOST, **sent)
    return {"invocation": item.id, "delivery": item.delivery}


def _decide(request: str, sent: Sent) -> Sent:
    [decision] = approvals.decide(OPERATOR, UUID(request), **sent).decisions
    return {"decision": decision.decision, "by": decision.by, "at": decision.at}


def _answer(request: str, sent: Sent) -> Sent:
    item = inputs.answer(OPERATOR, UUID(request), **sent)
    return {"state": item.state, "answer": item.answer, "by": item.answered_by, "at": item.answered_at}


def _decline(request: str, sent: Sent) -> Sent:
    item = inputs.decline(OPERATOR, UUID(request), **sent)
    return {"state": item.state, "answer": item.answer, "by": item.answered_by, "at": item.answered_at}


def _cancelled(request: str, sent: Sent) -> Sent:
    return {"status": cancellations.cancel(OPERATOR, UUID(request), **sent).status}


SENDING: Final[Mapping[str, Callable[[str, Sent], Sent]]] = {
    "start": _start,
    "decide": _decide,
    "answer": _answer,
    "decline": _decline,
    "cancel": _cancelled,
}
