"""People sign in with name and password; guessing is slow and shuts nobody else out."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from lifecycle_core.application import members, permissions

PASSWORD = "correct-horse-battery"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def people(settings: Any) -> Iterator[None]:
    """Make two people; the slow hash is tested elsewhere."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()
    for name in ("maria", "jonas"):
        members.add(permissions.command_line("default"), username=name, given=["viewer"], password=PASSWORD)
    yield
    cache.clear()


def sign_in(client: Client, name: str, password: str) -> bool:
    client.post("/accounts/login/", {"login": name, "password": password})
    return "_auth_user_id" in client.session


def test_the_right_password_signs_in() -> None:
    assert sign_in(Client(), "maria", PASSWORD)


@pytest.mark.parametrize("password", ["", "wrong", PASSWORD.upper(), PASSWORD + "\0"])
def test_a_wrong_one_does_not(password: str) -> None:
    assert not sign_in(Client(), "maria", password)


def test_a_closed_account_does_not() -> None:
    User.objects.filter(username="maria").update(is_active=False)
    assert not sign_in(Client(), "maria", PASSWORD)


def test_guessing_shuts_the_account_for_a_while_and_nobody_else() -> None:
    inside = Client()
    assert sign_in(inside, "maria", PASSWORD)
    for _ in range(5):
        sign_in(Client(), "maria", "wrong")
    assert not sign_in(Client(), "maria", PASSWORD)
    assert sign_in(Client(), "jonas", PASSWORD)
    assert inside.get("/api/v1/agents").status_code == 200


def test_an_unknown_name_and_a_wrong_password_look_the_same() -> None:
    answers = []
    for name in ("maria", "nobody"):
        page = Client().post("/accounts/login/", {"login": name, "password": "wrong"}).content.decode()
        answers.append("is not correct" in page or "are not correct" in page)
    assert answers == [True, True]


def test_signing_out_ends_the_session() -> None:
    client = Client()
    sign_in(client, "maria", PASSWORD)
    client.post("/accounts/logout/")
    assert client.get("/api/v1/agents").status_code == 401


def test_a_link_cannot_sign_anybody_out() -> None:
    client = Client()
    sign_in(client, "maria", PASSWORD)
    client.get("/accounts/logout/")
    assert client.get("/api/v1/agents").status_code == 200


def test_signing_in_leads_to_our_own_pages_only() -> None:
    response = Client().post(
        "/accounts/login/?next=https://evil.example/", {"login": "maria", "password": PASSWORD}
    )
    assert response["Location"] == "/"
