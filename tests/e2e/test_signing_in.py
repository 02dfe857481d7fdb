"""The first thing that anybody does."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.people import People


def test_a_stranger_is_asked_who_he_is(page: Page) -> None:
    page.goto("/invocations/")
    expect(page.get_by_label("Password")).to_be_visible()


def test_a_wrong_password_is_refused(page: Page, people: People) -> None:
    page.goto("/")
    people.fill_in(page, people.demo.users["operator"]["username"], "not the password")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Password")).to_be_visible()


def test_who_signs_in_comes_to_where_he_wanted_to_go(page: Page, people: People) -> None:
    page.goto("/deliveries/")
    people.fill_in(page, **people.demo.users["auditor"])
    expect(page).to_have_url(re.compile("/deliveries/$"))
    expect(page.get_by_role("heading", name="Deliveries")).to_be_visible()


@pytest.mark.parametrize("role", ["viewer", "operator", "coordinator", "host", "auditor", "admin", "owner"])
def test_everybody_of_the_demo_can_sign_in(people: People, role: str) -> None:
    page = people.open(role)
    page.goto("/")
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()


def test_who_signs_out_is_a_stranger_again(page: Page, people: People) -> None:
    people.sign_in(page, "viewer")
    other = page.context.new_page()
    other.goto("/invocations/")
    expect(other.locator("#live")).to_have_attribute("data-state", "live")
    page.get_by_label("Your menu").click()
    page.get_by_role("button", name="Sign out").click()
    expect(other.locator("#live")).to_have_text("Signed out")
    page.goto("/inbox/")
    expect(page.get_by_label("Password")).to_be_visible()
