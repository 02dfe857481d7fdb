"""What every answer carries, and what no request may cost."""

import logging
import re
from pathlib import Path

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpResponse
from django.test import Client, RequestFactory

from console.middleware import StaticFiles


@pytest.fixture
def response(db: None) -> object:
    return Client().get("/accounts/login/")


def test_pages_run_only_what_is_ours(response: dict[str, str]) -> None:
    policy = response["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "img-src 'self' data:" in policy
    assert "object-src 'none'" in policy
    assert not re.search(r"https?:|\*", policy)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ],
)
def test_pages_carry_the_usual_walls(response: dict[str, str], header: str, value: str) -> None:
    assert response[header] == value


def test_cookies_stay_on_our_own_pages(db: None) -> None:
    cookies = Client().get("/accounts/login/").cookies
    assert cookies
    for cookie in cookies.values():
        assert cookie["samesite"] == "Strict"
        assert cookie["httponly"]


def test_nobody_can_sign_up(db: None) -> None:
    assert Client().get("/accounts/signup/").status_code == 404


def test_static_files_are_served_with_their_type(db: None) -> None:
    response = Client().get("/static/ninja/swagger-ui.css")
    assert (response.status_code, response["Content-Type"]) == (200, 'text/css; charset="utf-8"')
    assert "Access-Control-Allow-Origin" not in response
    assert Client().get("/static/nothing.css").status_code == 404


def test_a_static_file_that_has_changed_is_as_long_as_it_says(tmp_path: Path) -> None:
    file = tmp_path / "changing.css"
    file.write_text("a { color: red }")
    middleware = StaticFiles(lambda request: HttpResponse(status=404))
    middleware.add_file_to_dictionary("/static/changing.css", str(file))
    file.write_text("a { }")
    response = middleware(RequestFactory().get("/static/changing.css"))
    assert (response["Content-Length"], response.content) == ("5", b"a { }")


def test_no_middleware_holds_a_thread_for_a_request_that_waits(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "django.request"):
        ASGIHandler()
    assert "adapted" not in caplog.text
