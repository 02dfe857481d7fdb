"""An unknown invocation: what is open, and what a coordinator says about it."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.urls import reverse

from lifecycle_core.application import agents, approvals, invocations, permissions, queries, work
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.testing.answers import Answer, Call
from lifecycle_core.testing.http_sink import HttpSink
from tests.console.api.conftest import AGENT, World
from tests.console.views.conftest import People, form

pytestmark = pytest.mark.django_db

POSTER = AGENT.replace('"writer"', '"poster"').replace('["files"]', '["http_request"]')


@pytest.fixture(scope="module")
def sink() -> Iterator[HttpSink]:
    """An endpoint that takes what is posted and never answers."""
    with HttpSink(mode="drop") as sink:
        yield sink


@pytest.fixture
def lost(world: World, sink: HttpSink, settings: Any) -> str:
    """Return an invocation whose one call was approved, sent, and never answered."""
    settings.LIFECYCLE_HTTP_ORIGINS = frozenset({sink.origin})
    admin = permissions.command_line("default")
    base = queries.agent(admin, "writer").base_url
    agents.apply(admin, POSTER.format(base_url=base))
    post = Call(tool="http_request", arguments={"method": "POST", "url": sink.url, "body": "<b>7</b>"})
    world.script.answers.append(Answer(calls=(post,)))
    item = invocations.start(world.host, agent="poster", action="write", input={"about": "x"})
    drive(item.id)
    [asked] = queries.approvals(world.host, state="pending", invocation=UUID(item.id)).items
    approvals.decide(admin, UUID(asked.id), decision="approve", request_digest=asked.request_digest)
    drive(item.id)
    assert status(item.id) == "unknown"
    return item.id


def drive(invocation: str) -> None:
    for found in work.claimable(10):
        if str(found.invocation) == invocation:
            work.drive(found.invocation, "test", Interruption())


def status(invocation: str) -> str:
    return queries.invocation(permissions.command_line("default"), UUID(invocation)).status


def place(invocation: str) -> str:
    return reverse("pages:resolve", args=[invocation])


def send(people: People, invocation: str, who: str = "coordinator", **fields: str) -> Any:
    browser = people(who)
    return form(browser.get(place(invocation)), 'name="outcome"').send(browser, **fields)


HAPPENED = {"said-0": "happened", "written-0": "json", "result-0": '{"status": 201}'}


def test_it_says_what_was_sent_by_whom_it_was_approved_and_why_nobody_knows(
    people: People, lost: str
) -> None:
    page = people("viewer").get(place(lost)).content.decode()
    assert "A call was interrupted after it had been sent" in page
    assert "&lt;b&gt;7&lt;/b&gt;" in page
    assert "system:command-line" in page
    assert "Cannot be undone" in page


@pytest.mark.parametrize("who", ["viewer", "operator", "auditor", "admin"])
def test_who_may_not_resolve_sees_who_can_and_no_form(people: People, lost: str, who: str) -> None:
    page = people(who).get(place(lost))
    assert "A coordinator finds out what happened" in page.content.decode()
    assert 'name="outcome"' not in page.content.decode()
    assert people(who).post(place(lost), {"outcome": "failed", "reason": "x"}).status_code == 403
    assert status(lost) == "unknown"


def test_for_another_tenant_and_another_host_it_is_not_there(people: People, lost: str) -> None:
    assert people("coordinator@elsewhere").get(place(lost)).status_code == 404
    assert people("coordinator@elsewhere").post(place(lost), {}).status_code == 404
    assert people("host").get(place(lost)).status_code == 404


@pytest.mark.parametrize(
    ("said", "told", "posts"),
    [
        (HAPPENED, ("executed", {"status": 201}), 0),
        ({"said-0": "happened", "written-0": "text", "result-0": "a\r\nb"}, ("executed", "a\nb"), 0),
        ({"said-0": "error"}, ("failed", None), 0),
    ],
)
def test_what_became_of_the_call_is_told_to_the_agent_and_it_goes_on(
    people: People, lost: str, sink: HttpSink, said: dict[str, str], told: tuple[str, Any], posts: int
) -> None:
    before = len(sink.posts)
    answer = send(people, lost, **said, outcome="continue", reason="I looked at the status page")
    assert (answer.status_code, answer["Location"]) == (302, reverse("pages:invocation", args=[lost]))
    drive(lost)
    assert status(lost) == "completed"
    told_now = [
        (entry.text, entry.value)
        for entry in queries.transcript(permissions.command_line("default"), UUID(lost))
        if entry.kind == "result"
    ]
    assert told_now[0][0] == told[0]
    assert told[1] is None or told_now[0][1] == told[1]
    assert len(sink.posts) - before == posts
    line = people("viewer").get(reverse("pages:invocation", args=[lost])).content.decode()
    assert "I looked at the status page" in line
    assert "user:coordinator" in line


def test_a_call_that_did_not_happen_runs_when_that_is_said(people: People, lost: str, sink: HttpSink) -> None:
    before = len(sink.posts)
    send(people, lost, **{"said-0": "run"}, outcome="continue", reason="nothing was there")
    drive(lost)
    assert len(sink.posts) == before + 1


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_the_whole_is_settled_without_knowing(people: People, lost: str, outcome: str) -> None:
    assert send(people, lost, outcome=outcome, reason="the page is gone").status_code == 302
    assert status(lost) == outcome


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({}, 3),
        ({"outcome": "continue"}, 2),
        ({"outcome": "continue", "reason": "x"}, 1),
        ({"outcome": "continue", "said-0": "open", "reason": "x"}, 1),
        ({"outcome": "failed", "said-0": "run"}, 2),
        ({"outcome": "maybe", **HAPPENED, "reason": "x"}, 1),
        ({"outcome": "continue", **HAPPENED, "result-0": "{", "reason": ""}, 2),
    ],
)
def test_everything_that_is_missing_is_said_at_once_and_what_was_typed_stays(
    people: People, lost: str, fields: dict[str, str], problems: int
) -> None:
    page = send(people, lost, **fields)
    html = page.content.decode()
    assert (page.status_code, html.count('class="problem"')) == (422, problems)
    if fields.get("result-0") == "{":
        assert re.search(r'name="result-0"[^>]*aria-invalid="true"[^>]*>\n\{<', html)
    assert status(lost) == "unknown"


def test_who_comes_second_is_told(people: People, lost: str) -> None:
    browser = people("coordinator")
    page = browser.get(place(lost))
    send(people, lost, "owner", outcome="failed", reason="gone")
    late = form(page, 'name="outcome"').send(browser, outcome="continue", reason="it is there", **HAPPENED)
    assert late.status_code == 409
    assert "Somebody has resolved it already." in late.content.decode()
    assert status(lost) == "failed"
    assert browser.get(place(lost)).status_code == 302


def test_sent_twice_it_counts_once(people: People, lost: str) -> None:
    browser = people("coordinator")
    shown = form(browser.get(place(lost)), 'name="outcome"')
    answers = [shown.send(browser, outcome="failed", reason="gone") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [302, 302]


def test_the_inbox_of_a_coordinator_leads_to_what_is_open(people: People, lost: str) -> None:
    assert place(lost) in people("coordinator").get(reverse("pages:inbox")).content.decode()
    head = people("coordinator").get(reverse("pages:invocation", args=[lost])).content.decode()
    assert "Say what happened" in head
    assert "What is open" in people("viewer").get(reverse("pages:invocation", args=[lost])).content.decode()
