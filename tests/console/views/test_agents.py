"""Agents and providers: what cannot run here is shown as that, and is not offered."""

import pytest
from django.urls import reverse

from lifecycle_core.application import agents, permissions
from tests.console.api.conftest import AGENT, World
from tests.console.views.conftest import People

pytestmark = pytest.mark.django_db

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
