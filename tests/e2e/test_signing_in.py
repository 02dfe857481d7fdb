"""The first thing that anybody does."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness.demo import Demo


def test_a_stranger_is_asked_who_he_is(page: Page) -> None:
    page.goto("/invocations/")
    expect(page.locator("input[name=password]")).to_be_visible()


def test_a_wrong_password_is_refused(page: Page, server: Demo) -> None:
    page.goto("/")
    page.fill("input[name=login]", server.users["operator"]["username"])
    page.fill("input[name=password]", "not the password")
    page.click("form[action*=login] button[type=submit]")
    expect(page.locator("input[name=password]")).to_be_visible()
    expect(page).not_to_have_url("**/inbox/**")


@pytest.mark.parametrize("role", ["viewer", "operator", "coordinator", "host", "auditor", "admin", "owner"])
def test_everybody_of_the_demo_can_sign_in(sign_in: Callable[[str], Page], role: str) -> None:
    page = sign_in(role)
    expect(page.locator("main")).to_be_visible()


def test_the_inbox_of_an_operator_is_a_picture(
    sign_in: Callable[[str], Page], picture: Callable[[str], None]
) -> None:
    page = sign_in("operator")
    expect(page.locator("main")).to_be_visible()
    picture("inbox")
