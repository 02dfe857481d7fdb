"""Starting, watching in three depths, and cancelling."""

import json
import uuid
from typing import Any

import pytest
from django.urls import reverse

from lifecycle_core.application import permissions, queries
from tests.console.api.conftest import WRITE, World
from tests.console.views.conftest import People, form

pytestmark = pytest.mark.django_db


def content(response: Any) -> str:
    return b"".join(response).decode()


class TestStart:
    def test_it_starts_what_the_form_says(self, people: People, world: World) -> None:
        owner = people("owner")
        page = owner.get(reverse("pages:start-action", args=["writer", "write"]))
        answer = form(page, 'name="mode"').send(owner, **{"f/about": "foxes", "delivery": "d-1"})
        assert answer.status_code == 302
        started = queries.invocations(permissions.command_line("default"), delivery="d-1").items
        assert [(item.action, item.input) for item in started] == [("write", {"about": "foxes"})]

    def test_sent_twice_it_starts_once(self, people: People, world: World) -> None:
        owner = people("owner")
        page = owner.get(reverse("pages:start-action", args=["writer", "write"]))
        places = {form(page, 'name="mode"').send(owner, **{"f/about": "x"})["Location"] for _ in range(2)}
        assert len(places) == 1

    def test_only_who_may_start_sees_the_form(self, people: People) -> None:
        place = reverse("pages:start-action", args=["writer", "write"])
        assert people("viewer").get(place).status_code == 403
        assert people("host").get(place).status_code == 200

    @pytest.mark.parametrize("names", [("writer", "nothing"), ("nobody", "write")])
    def test_what_is_not_registered_is_not_there(self, people: People, names: tuple[str, str]) -> None:
        assert people("owner").get(reverse("pages:start-action", args=names)).status_code == 404


class TestDepths:
    def test_each_has_its_own_address_and_shows_the_same_facts(self, people: People, world: World) -> None:
        invocation = world.start(WRITE)
        viewer = people("viewer")
        for name in ("invocation", "transcript", "journal"):
            page = viewer.get(reverse(f"pages:{name}", args=[invocation])).content.decode()
            assert "files_write" in page

    def test_the_journal_goes_on_where_a_page_ends(self, people: People, world: World) -> None:
        invocation = world.start(WRITE)
        place = reverse("pages:journal", args=[invocation])
        first = people("viewer").get(place).context["events"]
        rest = people("viewer").get(place, {"after": first[1].seq}).context["events"]
        assert [event.seq for event in rest] == [event.seq for event in first[2:]]

    def test_it_is_filtered_by_kind_actor_and_text(self, people: People, world: World) -> None:
        place = reverse("pages:journal", args=[world.start(WRITE)])
        kinds = people("viewer").get(place, {"kind": "tool.requested"}).context["events"]
        assert {event.kind for event in kinds} == {"tool.requested"}
        assert people("viewer").get(place, {"text": "no such text"}).context["events"] == []

    def test_one_fact_has_its_own_address(self, people: People, world: World) -> None:
        invocation = world.start(WRITE)
        page = people("viewer").get(reverse("pages:event", args=[invocation, 1])).content.decode()
        assert "invocation.admitted" in page
        assert people("viewer").get(reverse("pages:event", args=[invocation, 9999])).status_code == 404

    def test_the_export_has_every_fact(self, people: People, world: World) -> None:
        invocation = world.start(WRITE)
        lines = content(people("auditor").get(reverse("pages:journal-export", args=[invocation])))
        exported = [json.loads(line)["seq"] for line in lines.splitlines()]
        assert exported == list(range(1, len(exported) + 1))
        assert people("operator").get(reverse("pages:journal-export", args=[invocation])).status_code == 403

    def test_a_changed_fact_is_shown_as_corrupt_and_hides_nothing(
        self, people: People, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from dataclasses import replace

        from lifecycle_core.application import queries as module

        invocation = world.start(WRITE)
        true = module.events

        def forged(*args: Any, **kwargs: Any) -> Any:
            page = true(*args, **kwargs)
            return replace(page, items=[replace(e, corrupt=e.seq == 2) for e in page.items])

        monkeypatch.setattr(module, "events", forged)
        page = people("viewer").get(reverse("pages:journal", args=[invocation]))
        assert page.content.decode().count('class="corrupt"') == 1
        assert len(page.context["events"]) > 3


class TestCancel:
    def test_it_asks_first_and_then_cancels(self, people: People, world: World) -> None:
        invocation, operator = world.start(WRITE), people("operator")
        page = operator.get(reverse("pages:invocation-cancel", args=[invocation]))
        assert queries.invocation(world.host, uuid.UUID(invocation)).status == "awaiting-input"
        form(page, "comment").send(operator, comment="not needed")
        assert queries.invocation(world.host, uuid.UUID(invocation)).status == "cancelled"

    def test_its_open_requests_turn_into_facts(self, people: People, world: World) -> None:
        approval, operator = world.approval(), people("operator")
        form(operator.get(reverse("pages:invocation-cancel", args=[approval.invocation])), "comment").send(
            operator
        )
        page = operator.get(reverse("pages:approval", args=[approval.id])).content.decode()
        assert "ended before anybody decided" in page
