"""The demo's agents react to what their tools and people answer, and end with results that their schemas admit."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifecycle_core.contract import ports
from lifecycle_core.contract.digests import Json
from lifecycle_core.engine import result_schema
from lifecycle_core.providers.chat_completions import ChatCompletions
from lifecycle_core.testing import scenarios
from lifecycle_core.testing.carriers import MemoryCarrier
from lifecycle_core.testing.http_sink import HttpSink
from lifecycle_core.testing.model_server import ModelServer
from tests.lifecycle_core.testing.conftest import ORIGIN, Work, definitions

URL = f"{ORIGIN}/status"


def result(work: Work) -> Json:
    """Return what the agent completed with, checked against the schema of its action."""
    completion = work.carrier.completion
    assert result_schema.validate(work.action.result_schema, completion) == []
    return completion


@pytest.mark.parametrize("agent", definitions())
def test_the_schemas_of_the_demo_have_a_form_that_is_admitted(agent: str) -> None:
    for action in definitions()[agent].actions.values():
        assert result_schema.check_form(action.input_schema) == []
        assert result_schema.check_form(action.result_schema) == []


def test_a_model_of_ones_own_serves_all_agents() -> None:
    text = scenarios.agents_toml(base_url="http://a/v1", endpoint_origin=ORIGIN, model="real-model")
    assert text.count('model = "real-model"') == 4
    assert "scripted-" not in text


def notes(workspace: Path, version: str = "2.4.0") -> Work:
    return Work("release-notes", "write-notes", {"version": version}, workspace)


def test_release_notes_ask_for_their_readers_with_a_schema(workspace: Path) -> None:
    asked = notes(workspace).arguments("workflow_request_input")
    assert "2.4.0 has 8 changes" in asked["prompt"]
    assert result_schema.check_form(asked["responseSchema"]) == []
    assert result_schema.validate(asked["responseSchema"], {"audience": "customers"}) == []
    assert result_schema.validate(asked["responseSchema"], {"audience": "cats"})


@pytest.mark.parametrize(
    ("audience", "there", "not_there"),
    [("developers", "(#1841)", "**"), ("customers", "## New", "#1841"), ("executives", "3 added", "## ")],
)
def test_release_notes_are_written_for_those_who_were_chosen(
    workspace: Path, audience: str, there: str, not_there: str
) -> None:
    work = notes(workspace)
    work.answer({"audience": audience})
    arguments = work.arguments("files_write")
    assert there in arguments["content"]
    assert not_there not in arguments["content"].replace("# Harbour", "")
    work.approve(work.waiting("files_write")[0])
    assert (workspace / "notes/2.4.0.md").read_text() == arguments["content"]
    assert result(work) == {"path": "notes/2.4.0.md"}


def test_release_notes_begin_with_what_was_asked_for(workspace: Path) -> None:
    work = notes(workspace)
    work.answer({"audience": "customers", "highlight": "Two-hour windows"})
    assert "**Two-hour windows**" in work.arguments("files_write")["content"].splitlines()[2]


def test_release_notes_that_were_edited_are_reported_where_they_are(workspace: Path) -> None:
    work = notes(workspace)
    work.answer({"audience": "customers"})
    work.approve(work.waiting("files_write")[0], path="notes/march.md", content="Short.\n")
    assert result(work) == {"path": "notes/march.md"}
    assert (workspace / "notes/march.md").read_text() == "Short.\n"


def test_release_notes_that_were_refused_say_why_there_are_none(workspace: Path) -> None:
    work = notes(workspace)
    work.answer({"audience": "customers"})
    work.reject(work.waiting("files_write")[0], "Marketing writes these.")
    assert result(work) == {"path": None, "declined": "Marketing writes these."}


def test_release_notes_do_without_an_answer(workspace: Path) -> None:
    work = notes(workspace)
    work.settle(
        work.waiting("workflow_request_input")[0], {"kind": "DECLINED", "reason": "", "detail": "No."}
    )
    assert "#1841" in work.arguments("files_write")["content"]


def test_release_notes_stop_when_a_person_asks_them_to(workspace: Path) -> None:
    work = notes(workspace)
    asked = work.waiting("workflow_request_input")[0]
    work.settle(asked, {"kind": "ACTION_FINISH_REQUESTED", "content": None})
    assert isinstance(result(work), dict)


def test_release_notes_answered_in_the_tools_place_are_not_said_to_be_written(workspace: Path) -> None:
    work = notes(workspace)
    work.answer({"audience": "customers"})
    work.settle(work.waiting("files_write")[0], "I pasted it into the wiki")
    assert result(work) == {"path": None, "declined": "a person answered instead: I pasted it into the wiki"}


def test_release_notes_of_an_unknown_version_are_not_invented(workspace: Path) -> None:
    assert result(notes(workspace, "9.9.9")) == {
        "path": None,
        "declined": "CHANGES.md says nothing about 9.9.9",
    }


def test_release_notes_without_changes_say_what_is_missing(tmp_path: Path) -> None:
    completed = result(notes(tmp_path))
    assert isinstance(completed, dict)
    assert completed["path"] is None
    assert "CHANGES.md" in str(completed["declined"])


def review(workspace: Path, **input: Json) -> Work:
    return Work("dependency-review", "review", input, workspace)


def test_a_review_asks_for_both_files_in_one_turn_beside_calls_that_need_nobody(workspace: Path) -> None:
    work = review(workspace)
    calls = [call.tool for call in work.carrier.answers[-1].calls]
    assert calls == ["files_read", "files_write", "files_write", "files_list"]
    assert [call.tool for call in work.carrier.waiting.values()] == ["files_write", "files_write"]


def test_a_review_finds_what_is_not_pinned(workspace: Path) -> None:
    findings, todo = review(workspace).waiting("files_write")
    assert findings.arguments
    assert todo.arguments
    assert "| pillow | any | not pinned |" in str(findings.arguments["content"])
    assert "| celery | ==5.4.0 | none |" in str(findings.arguments["content"])
    assert str(todo.arguments["content"]).count("- [ ]") == 4


def test_a_review_can_look_at_what_is_not_pinned_alone(workspace: Path) -> None:
    findings = review(workspace, focus="unpinned").waiting("files_write")[0]
    assert findings.arguments
    assert "celery" not in str(findings.arguments["content"])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_review_reports_each_file_by_its_own_decision(workspace: Path, order: tuple[int, int]) -> None:
    work = review(workspace)
    writes = work.waiting("files_write")
    for index in order:
        if index == 0:
            work.approve(writes[0])
        else:
            work.reject(writes[1], "We use tickets.")
    declined: Json = [{"path": "reviews/todo.md", "reason": "We use tickets."}]
    assert result(work) == {"written": ["reviews/dependencies.md"], "declined": declined}
    assert not (workspace / "reviews/todo.md").exists()


def notice(workspace: Path) -> Work:
    return Work("customer-notice", "draft", {"topic": "Maintenance on Sunday"}, workspace)


@pytest.mark.parametrize(("tone", "greeting"), [("friendly", "Hello,"), ("formal", "Dear customer,")])
def test_a_notice_has_the_tone_that_was_chosen(workspace: Path, tone: str, greeting: str) -> None:
    work = notice(workspace)
    assert work.arguments("workflow_request_input")["responseSchema"]["enum"] == [
        "friendly",
        "formal",
        "urgent",
    ]
    work.answer(tone)
    content = work.arguments("files_write")["content"]
    assert greeting in content
    assert "15 March 2026" in content
    work.approve(work.waiting("files_write")[0])
    assert result(work) == {"path": "drafts/notice.md", "tone": tone}


def test_a_notice_that_was_refused_is_shortened_once(workspace: Path) -> None:
    work = notice(workspace)
    work.answer("formal")
    first = work.arguments("files_write")["content"]
    work.reject(work.waiting("files_write")[0], "Too long.")
    assert len(work.arguments("files_write")["content"]) < len(first)
    work.reject(work.waiting("files_write")[0], "Still too long.")
    assert result(work) == {"path": None, "tone": "formal", "declined": "Still too long."}


def status(workspace: Path) -> Work:
    return Work("status-post", "announce", {"url": URL}, workspace)


def test_a_status_is_posted_as_the_incident_says(workspace: Path) -> None:
    work = status(workspace)
    arguments = work.arguments("http_request")
    assert (arguments["method"], arguments["url"]) == ("POST", URL)
    assert json.loads(arguments["body"])["component"] == "Tracking updates"
    work.settle(
        work.waiting("http_request")[0], {"status": 201, "headers": {}, "body": "", "truncated": False}
    )
    assert result(work) == {"status": 201}


def test_a_status_that_may_not_be_posted_is_reported_as_such(workspace: Path) -> None:
    work = status(workspace)
    work.reject(work.waiting("http_request")[0], "It is fixed already.")
    assert result(work) == {"status": None, "declined": "It is fixed already."}


def test_the_input_of_a_status_admits_the_endpoint_and_no_other() -> None:
    schema = definitions()["status-post"].actions["announce"].input_schema
    assert result_schema.validate(schema, {"url": URL}) == []
    for other in ("http://127.0.0.1:9100.evil/status", "http://127x0.0.1:9100/status", "https://a/"):
        assert result_schema.validate(schema, {"url": other})


@pytest.fixture
def served() -> Iterator[ModelServer]:
    with ModelServer(scenarios.script, secret="key", pace=0.0001) as server:
        yield server


@pytest.mark.parametrize("model", ["scripted-release-notes", "release-notes", "any-model"])
def test_a_server_finds_the_script_of_an_agent_by_its_model_or_its_instructions(
    served: ModelServer, model: str
) -> None:
    provider = ChatCompletions()
    route = ports.ModelRoute(model=model, base_url=served.base_url, configuration={})
    instructions = definitions()["release-notes"].instructions
    session = provider.open(
        ports.SessionRequest(
            affinity="", instructions=instructions, opaque_identity="", route=route, tools=()
        )
    )
    carrier = MemoryCarrier()
    with pytest.raises(ports.TurnSuspended):
        session.run(
            ports.Begin(purpose="p", input={"version": "2.4.0"}),
            carrier,
            {"secret": "key"},
        )
    provider.dispose()
    assert [call.tool for call in carrier.waiting.values()] == ["files_list", "files_read"]
    assert carrier.text == carrier.answers[0].text


def test_an_agent_without_a_script_is_told_so(served: ModelServer) -> None:
    provider = ChatCompletions()
    route = ports.ModelRoute(model="m", base_url=served.base_url, configuration={})
    session = provider.open(
        ports.SessionRequest(affinity="", instructions="?", opaque_identity="", route=route, tools=())
    )
    carrier = MemoryCarrier()
    session.run(ports.Begin(purpose="p", input={}), carrier, {"secret": "key"})
    provider.dispose()
    assert "no script" in carrier.text


def test_the_endpoint_of_the_demo_remembers_what_is_posted(workspace: Path) -> None:
    with HttpSink() as sink:
        work = Work("status-post", "announce", {"url": sink.url}, workspace)
        assert work.arguments("http_request")["url"] == sink.url
        assert not sink.posts
