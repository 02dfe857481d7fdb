"""Agents and providers: what cannot run here or was withdrawn is shown as that, and is not offered."""

from typing import Any
from uuid import UUID

import pytest
from django.urls import reverse

from lifecycle_core.application import agents, permissions, queries, versions
from lifecycle_core.testing.answers import Refusal
from tests.console.api.conftest import AGENT, ASK, World
from tests.console.views.conftest import People, form

pytestmark = pytest.mark.django_db

ADMIN = permissions.command_line("default")

SHELL = AGENT.replace('"writer"', '"pilot"').replace('"chat-completions"', '"copilot-sdk"')


@pytest.fixture
def pilot(world: World) -> None:
    agents.apply(permissions.command_line("default"), SHELL.format(base_url="http://127.0.0.1:9/v1"))


@pytest.mark.parametrize("who", ["owner", "viewer"])
def test_an_agent_of_a_provider_that_is_not_implemented_is_marked_for_everybody(
    people: People, pilot: None, who: str
) -> None:
    listed = people(who).get(reverse("pages:agents")).content.decode()
    assert listed.count("cannot be started here") == 1
    assert "not implemented here" in people(who).get(reverse("pages:agent", args=["pilot"])).content.decode()
    writer = people(who).get(reverse("pages:agent", args=["writer"])).content.decode()
    assert "not implemented here" not in writer


def test_it_is_not_offered_to_be_started(people: People, pilot: None) -> None:
    owner = people("owner")
    offered = owner.get(reverse("pages:start")).content.decode()
    place = reverse("pages:start-action", args=["pilot", "write"])
    assert place not in offered
    assert reverse("pages:start-action", args=["writer", "write"]) in offered
    assert place not in owner.get(reverse("pages:agent", args=["pilot"])).content.decode()
    assert "<textarea" not in owner.get(place).content.decode()


def test_every_provider_says_whether_it_runs_here(people: People) -> None:
    page = people("viewer").get(reverse("pages:tools")).content.decode()
    for provider in ("chat-completions", "copilot-sdk", "codex-cli"):
        assert provider in page
    assert page.count("Not implemented here") >= 2


def page(people: People, name: str, *arguments: str, who: str = "owner") -> str:
    return str(people(who).get(reverse(f"pages:{name}", args=arguments)).content.decode())


def withdrawing(binding: str) -> str:
    return reverse("pages:agent-withdraw", args=["writer", binding])


@pytest.fixture
def binding(world: World) -> str:
    return queries.agent(ADMIN, "writer").binding


def test_an_administrator_withdraws_a_version_on_the_page_of_its_agent(
    people: People, world: World, binding: str
) -> None:
    world.start(ASK)
    admin, start = people("admin"), reverse("pages:start-action", args=["writer", "write"])
    assert start in page(people, "agent", "writer")
    assert withdrawing(binding) in page(people, "agent", "writer", who="admin")
    asked = admin.get(withdrawing(binding))
    assert "can be started no more" in asked.content.decode()
    answer = form(asked, "Withdraw the version").send(admin, reason="It <b>leaks</b>.")
    assert (answer.status_code, answer["Location"]) == (302, reverse("pages:agent", args=["writer"]))
    for who in ("viewer", "admin", "owner"):
        shown = page(people, "agent", "writer", who=who)
        assert "withdrawn by user:admin" in shown
        assert "It &lt;b&gt;leaks&lt;/b&gt;." in shown
        assert not {start, withdrawing(binding)} & set(shown.split('"'))
    assert "Withdrawn" in page(people, "agents")
    offered = page(people, "start")
    assert start not in offered
    assert "It was withdrawn and starts nothing any more." in offered
    assert "<textarea" not in page(people, "start-action", "writer", "write")


def test_a_start_that_was_filled_in_before_is_refused_and_says_why(people: People, world: World) -> None:
    owner = people("owner")
    filled = form(owner.get(reverse("pages:start-action", args=["writer", "write"])), "Start</button>")
    versions.withdraw(ADMIN, "writer")
    answer = filled.send(owner, **{"input.about": "x", "about": "x"})
    assert answer.status_code == 409
    assert "was withdrawn and starts nothing any more" in answer.content.decode()
    assert not queries.invocations(ADMIN).items


def test_each_version_says_its_state_and_how_many_run(people: People, world: World, binding: str) -> None:
    world.start(ASK)
    changed = AGENT.replace("You write.", "You write well.").format(base_url="http://127.0.0.1:9/v1")
    agents.apply(ADMIN, changed)
    shown = people("viewer").get(reverse("pages:agent", args=["writer"]))
    assert [(each.state, each.running) for each in shown.context["versions"]] == [
        ("current", 0),
        ("replaced", 1),
    ]
    rows = shown.content.decode().partition("<h2>Versions</h2>")[2]
    assert rows.index("Current") < rows.index("Replaced")
    assert withdrawing(binding) not in shown.content.decode()
    assert "Hosts that still bring" in people("admin").get(withdrawing(binding)).content.decode()


@pytest.mark.parametrize("who", ["viewer", "operator", "coordinator", "host", "auditor"])
def test_only_an_administrator_may_withdraw(people: People, binding: str, who: str) -> None:
    for answer in (people(who).get(withdrawing(binding)), people(who).post(withdrawing(binding))):
        assert answer.status_code == 403
    assert queries.agent(ADMIN, "writer").withdrawn is False


def test_a_version_of_another_tenant_is_not_there(people: People, binding: str) -> None:
    assert people("owner@elsewhere").post(withdrawing(binding)).status_code == 404
    assert people("owner").get(withdrawing("sha256:" + "0" * 64)).status_code == 404


def test_a_retry_of_a_withdrawn_version_says_so(people: People, world: World) -> None:
    world.script.answers.append(Refusal(status=400))
    failed, owner = world.start(), people("owner")
    place = reverse("pages:retry", args=[failed])
    filled = form(owner.get(place), "Start attempt 2")
    versions.withdraw(ADMIN, "writer")
    assert place not in page(people, "invocation", failed)
    assert "has been withdrawn" in owner.get(place).content.decode()
    refused: Any = filled.send(owner)
    assert refused.status_code == 409
    assert "was withdrawn and starts nothing any more" in refused.content.decode()
    assert queries.invocation(ADMIN, UUID(failed)).attempt == 1
