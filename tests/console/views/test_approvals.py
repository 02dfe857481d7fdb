"""The decision card: exactly the call, one decision, and the fact for whoever comes late."""

import re
import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from lifecycle_core.application import approvals, permissions, queries
from lifecycle_core.journal import models
from lifecycle_core.testing.answers import Call
from tests.console.api.conftest import WRITE, World
from tests.console.views.conftest import People, form

pytestmark = pytest.mark.django_db

HOSTILE = 'x</pre><script>alert(1)</script><img src=x onerror="alert(1)" hx-get="/inbox/">\u202egnp.\u200b'


def card(browser: Client, approval: Any) -> Any:
    return browser.get(reverse("pages:approval", args=[approval.id]))


def state(world: World, approval: Any) -> str:
    return queries.approval(world.host, uuid.UUID(approval.id)).state


def test_it_approves_what_was_on_screen(people: People, world: World) -> None:
    approval, operator = world.approval(), people("operator")
    answer = form(card(operator, approval), 'value="approve"').send(operator)
    assert answer.status_code == 303
    assert f"decided={approval.id}" in answer["Location"]
    assert state(world, approval) == "approved"


def test_the_next_request_is_selected_with_the_decided_one_a_key_away(people: People, world: World) -> None:
    first, second, operator = world.approval(), world.approval(), people("operator")
    answer = form(card(operator, first), 'value="approve"').send(operator)
    assert answer["Location"].startswith(reverse("pages:approval", args=[second.id]))
    page = operator.get(answer["Location"]).content.decode()
    assert re.search(rf'href="/approvals/{first.id}/\?group=done" data-previous', page)


def test_the_filters_survive_a_decision(people: People, world: World) -> None:
    approval, operator = world.approval(), people("operator")
    world.approval()
    page = operator.get(reverse("pages:approval", args=[approval.id]), {"tool": "files_write"})
    answer = form(page, 'value="approve"').send(operator)
    assert "tool=files_write" in answer["Location"]


def test_another_digest_decides_nothing_and_shows_the_card(people: People, world: World) -> None:
    approval, operator = world.approval(), people("operator")
    shown = form(card(operator, approval), 'value="approve"')
    answer = shown.send(operator, request_digest="sha256:" + "0" * 64)
    assert answer.status_code == 409
    assert "read it again" in answer.content.decode()
    assert state(world, approval) == "pending"


def test_who_comes_late_sees_the_fact_and_no_error_page(people: People, world: World) -> None:
    approval = world.approval()
    first, second = people("operator"), people("owner")
    late = form(card(second, approval), 'value="reject"')
    form(card(first, approval), 'value="approve"').send(first)
    answer = late.send(second, reason="no")
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "user:operator approved it" in page
    assert "came too late" in page
    assert "data-approve" not in page


def test_the_same_form_sent_twice_decides_once(people: People, world: World) -> None:
    approval, operator = world.approval(), people("operator")
    shown = form(card(operator, approval), 'value="approve"')
    assert [shown.send(operator).status_code for _ in range(2)] == [303, 303]
    assert len(queries.approval(world.host, uuid.UUID(approval.id)).decisions) == 1


def test_a_rejection_carries_its_reason(people: People, world: World) -> None:
    approval, operator = world.approval(), people("operator")
    form(card(operator, approval), 'value="reject"').send(operator, reason="Not on Friday.")
    assert "Not on Friday." in card(operator, approval).content.decode()
    assert state(world, approval) == "rejected"


def test_a_response_stands_in_the_tools_place(people: People, world: World) -> None:
    approval, operator = world.approval(), people("operator")
    form(card(operator, approval), 'value="respond"').send(operator, result="I did it by hand.")
    assert state(world, approval) == "responded"


@pytest.mark.parametrize("decision", ["", "edit", "APPROVE", "true", "approve "])
def test_no_other_word_is_a_decision(people: People, world: World, decision: str) -> None:
    approval, operator = world.approval(), people("operator")
    shown = form(card(operator, approval), 'value="approve"')
    assert shown.send(operator, decision=decision).status_code == 400
    assert state(world, approval) == "pending"


def test_a_form_without_its_token_is_refused(people: People, world: World) -> None:
    approval, operator = world.approval(), people("operator")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    place = reverse("pages:approval-decide", args=[approval.id])
    assert strict.post(place, {"decision": "approve"}).status_code == 403
    assert state(world, approval) == "pending"


def test_the_preview_of_a_change_has_signs(people: People, world: World) -> None:
    page = card(people("operator"), world.approval()).content.decode()
    assert '<li data-sign="+"><span class="sign">+</span>' in page
    assert "notes/a.md" in page


def test_the_page_says_how_much_of_a_change_it_does_not_show(people: People, world: World) -> None:
    world.start(Call(tool="files_write", arguments={"path": "notes/a.md", "content": "a\n" * 200_000}))
    approval = queries.approvals(world.host, state="pending").items[0]
    page = card(people("operator"), approval).content.decode()
    assert approval.preview is not None
    assert "199800 added and 0 removed lines are missing" in page
    assert f"to {approval.preview['target']}" in page


def test_text_that_lies_is_shown_and_does_nothing(people: People, world: World) -> None:
    world.start(Call(tool="files_write", arguments={"path": "notes/a.md", "content": HOSTILE}))
    approval = queries.approvals(world.host, state="pending").items[0]
    page = card(people("operator"), approval).content.decode()
    assert '<span class="token">U+202E</span>' in page
    assert '<span class="token">U+200B</span>' in page
    assert "\u202e" not in page
    assert "<img" not in page
    assert "alert(1)</script>" not in page
    assert "Text direction is overridden" in page


def test_a_long_value_is_whole_in_the_page(people: People, world: World) -> None:
    text = "\n".join(f"line {number}" for number in range(500))
    world.start(Call(tool="files_write", arguments={"path": "notes/a.md", "content": text}))
    approval = queries.approvals(world.host, state="pending").items[0]
    page = card(people("operator"), approval).content.decode()
    assert "line 499" in page
    assert "Show all: 500 lines" in page


class TestEdit:
    def editor(self, browser: Client, approval: Any, **query: str) -> Any:
        return browser.get(reverse("pages:approval-edit", args=[approval.id]), query)

    def test_it_runs_what_was_written(self, people: People, world: World) -> None:
        approval, operator = world.approval(), people("operator")
        shown = form(self.editor(operator, approval), "request_digest")
        answer = shown.send(operator, **{"f/path": "notes/b.md", "f/content": "Other\r\nlines"})
        assert answer.status_code == 303
        decided = queries.approval(world.host, uuid.UUID(approval.id))
        assert decided.state == "edited"
        assert decided.arguments == {"path": "notes/b.md", "content": "Other\nlines"}
        assert decided.proposed == WRITE.arguments

    def test_the_button_names_the_effect(self, people: People, world: World) -> None:
        page = self.editor(people("operator"), world.approval()).content.decode()
        assert "Run edited files_write" in page

    def test_json_is_another_way(self, people: People, world: World) -> None:
        approval, operator = world.approval(), people("operator")
        shown = form(self.editor(operator, approval, mode="json"), "request_digest")
        shown.send(operator, json='{"path": "notes/c.md", "content": ""}')
        decided = queries.approval(world.host, uuid.UUID(approval.id))
        assert decided.arguments == {"path": "notes/c.md", "content": ""}

    def test_an_empty_object_is_an_edit_and_never_an_approval(self, people: People, world: World) -> None:
        approval, operator = world.approval(), people("operator")
        shown = form(self.editor(operator, approval, mode="json"), "request_digest")
        assert shown.send(operator, json="{}").status_code == 422
        assert state(world, approval) == "pending"

    @pytest.mark.parametrize("text", ["", "{", '{"path": 1, "path": 2}', "NaN", "9007199254740993"])
    def test_what_is_no_exact_json_stays_in_the_editor(self, people: People, world: World, text: str) -> None:
        approval, operator = world.approval(), people("operator")
        shown = form(self.editor(operator, approval, mode="json"), "request_digest")
        answer = shown.send(operator, json=text)
        assert answer.status_code == 422
        assert "problem" in answer.content.decode()
        assert state(world, approval) == "pending"

    def test_a_wrong_argument_is_marked_beside_its_field(self, people: People, world: World) -> None:
        approval, operator = world.approval(), people("operator")
        shown = form(self.editor(operator, approval, mode="json"), "request_digest")
        answer = shown.send(operator, json='{"path": 7, "content": "x"}')
        assert answer.status_code == 422
        assert "/path" in answer.content.decode()

    def test_a_decided_one_leads_back_to_the_fact(self, people: People, world: World) -> None:
        approval, operator = world.approval(), people("operator")
        approvals.decide(
            permissions.command_line("default"),
            uuid.UUID(approval.id),
            decision="approve",
            request_digest=approval.request_digest,
        )
        answer = self.editor(operator, approval)
        assert answer["Location"] == reverse("pages:approval", args=[approval.id])


def test_what_was_just_decided_is_told_with_what_came_of_it(people: People, world: World) -> None:
    approval = world.approval()
    operator = people("operator")
    place = reverse("pages:approval-outcome", args=[approval.id])
    assert "lc:finished" in operator.get(place).content.decode()
    form(card(operator, approval), 'value="approve"').send(operator)
    world.drive(approval.invocation)
    told = operator.get(place).content.decode()
    assert "Executed" in told
    assert "lc:finished" not in told


@pytest.mark.parametrize("mentioned", ["nothing", str(uuid.uuid4())])
def test_an_address_that_mentions_what_is_not_there_is_still_an_inbox(people: People, mentioned: str) -> None:
    answer = people("operator").get(reverse("pages:inbox"), {"decided": mentioned, "answered": mentioned})
    assert answer.status_code == 200
    assert "Decided." not in answer.content.decode()


def test_what_is_not_what_the_agent_proposed_says_so_and_shows_that(people: People, world: World) -> None:
    operator = people("operator")
    plain, changed = world.approval(), world.approval()
    models.Approval.objects.filter(id=changed.id).update(proposed='{"path": "as-proposed.md"}')
    assert "data-changed" not in card(operator, plain).content.decode()
    page = card(operator, changed).content.decode()
    assert "This is not what the agent proposed" in page
    assert "as-proposed.md" in page
