"""Programs come with a token, our own pages with the session; a session that changes something proves the page."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from lifecycle_core.access.models import Token
from lifecycle_core.application import members, permissions
from tests.console.api.conftest import Api, World

BODY = {"agent": "writer", "action": "write", "input": {"about": "x"}}


@pytest.fixture
def page(api: Api, world: World) -> Client:
    """Be the browser of an owner who is signed in."""
    admin = permissions.command_line("default")
    members.add(admin, username="maria", given=["owner"], password="correct-horse-battery")
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="maria"))
    return client


def token_of(page: Client) -> str:
    page.get("/accounts/password/change/")
    return page.cookies["lifecycle_csrf"].value


def test_a_session_may_read(page: Client) -> None:
    assert page.get("/api/v1/agents").status_code == 200


def test_a_session_that_changes_something_needs_the_token_of_the_page(page: Client) -> None:
    response = page.post("/api/v1/invocations", BODY, "application/json")
    assert (response.status_code, response.json()["code"]) == (403, "FORBIDDEN")
    headers = {"X-CSRFToken": token_of(page)}
    assert page.post("/api/v1/invocations", BODY, "application/json", headers=headers).status_code == 202


def test_a_foreign_page_cannot_use_the_session(page: Client) -> None:
    headers = {"X-CSRFToken": token_of(page), "Origin": "http://evil.example"}
    response = page.post("/api/v1/invocations", BODY, "application/json", headers=headers)
    assert response.status_code == 403


def test_a_wrong_token_does_not_fall_back_to_the_session(page: Client) -> None:
    response = page.get("/api/v1/agents", headers={"Authorization": "Bearer nobody"})
    assert response.status_code == 401


def test_a_person_without_a_tenant_may_nothing(page: Client) -> None:
    members.remove(permissions.command_line("default"), username="maria")
    response = page.get("/api/v1/agents")
    assert (response.status_code, response.json()["code"]) == (403, "FORBIDDEN")


def test_a_closed_account_is_nobody(page: Client) -> None:
    User.objects.update(is_active=False)
    assert page.get("/api/v1/agents").status_code == 401


def test_what_a_person_does_is_done_in_his_name(page: Client) -> None:
    headers = {"X-CSRFToken": token_of(page)}
    started = page.post("/api/v1/invocations", BODY, "application/json", headers=headers).json()
    assert started["requester"] == "user:maria"


@pytest.mark.parametrize(
    "header", ["Basic {}", "Token {}", "{}", "Bearer", "Bearer {} {}", "Bearer \u00e9", "Bearer " + "x" * 300]
)
def test_only_a_bearer_token_counts(api: Api, world: World, header: str) -> None:
    given = {"Authorization": header.replace("{}", api.bearers["owner"])}
    assert api.client.get("/api/v1/agents", headers=given).status_code == 401


def test_the_scheme_may_be_written_in_any_case(api: Api, world: World) -> None:
    given = {"Authorization": f"bearer  {api.bearers['owner']}"}
    assert api.client.get("/api/v1/agents", headers=given).status_code == 200


def test_a_token_in_the_address_does_not_count(api: Api, world: World) -> None:
    assert api.client.get(f"/api/v1/agents?token={api.bearers['owner']}").status_code == 401


def test_a_token_whose_roles_changed_may_what_they_say_now(api: Api, world: World) -> None:
    assert api.get("agents", "owner").status_code == 200
    Token.objects.filter(name="owner", tenant="default").update(roles=["viewer"])
    assert api.post("invocations", BODY, "owner").status_code == 403
