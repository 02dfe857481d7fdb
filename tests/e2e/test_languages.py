"""Both languages, also for what comes while the page is open."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import puppet as puppets
from tests.e2e.people import People
from tests.e2e.puppet import Puppet
from tests.e2e.rest import Rest


@pytest.fixture
def auditor(people: People) -> Page:
    return people.open("auditor")


def test_what_comes_live_is_in_the_language_that_was_chosen(
    auditor: Page, rest: Rest, puppet: Puppet
) -> None:
    invocation = puppet.play(rest, "in-chinese", puppets.writes("in-chinese", 1))
    approval = rest.until_asked(invocation)[0]
    auditor.goto(f"/invocations/{invocation}/")
    auditor.get_by_label("Your menu").click()
    auditor.get_by_role("button", name="简体中文").click()
    expect(auditor.locator("html")).to_have_attribute("lang", re.compile("zh-hans", re.IGNORECASE))
    expect(auditor.locator("#live")).to_have_text("实时")
    expect(auditor.locator(".inv-head [data-status]")).to_have_text("等待人员")
    assert rest.decide(approval, "approve").status_code == 200
    expect(auditor.locator(".inv-head [data-status]")).to_have_text("已完成")
    expect(auditor.locator('.timeline [data-kind="tool"] .state').first).to_have_text("已执行")


def test_the_browser_says_which_language_to_begin_with(people: People) -> None:
    page = people.stranger(locale="zh-CN")
    page.goto("/")
    expect(page.get_by_role("heading", name="登录")).to_be_visible()
