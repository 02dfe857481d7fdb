"""What holds for every page: nothing inline, every form complete, both languages, both themes, and the house's errors."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, Final
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from console import sentences
from lifecycle_core.application import permissions, queries
from lifecycle_core.contract import errors
from tests.console.api.conftest import ASK, WRITE, World
from tests.console.views.conftest import People

pytestmark = pytest.mark.django_db

VOID: Final = {"meta", "link", "input", "br", "hr", "img", "rect", "path", "circle", "line"}


class Reader(HTMLParser):
    """Note the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.forms: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append((tag, given))
        if tag == "form":
            self.forms.append({"method": given.get("method"), "names": set(), "action": given.get("action")})
        elif tag == "input" and self.forms:
            self.forms[-1]["names"].add(given.get("name"))


def pages(world: World, browser: Client) -> Iterator[tuple[str, Any]]:
    approval = world.approval()
    asked = world.input()
    ended = world.start()
    delivery = queries.invocation(world.host, approval.invocation).delivery_id
    places = [
        *(reverse(f"pages:{name}") for name in ("inbox", "start", "invocations", "deliveries", "tombstones")),
        *(reverse(f"pages:{name}") for name in ("agents", "tools", "leases", "affinities", "keys")),
        *(reverse("pages:inbox-group", args=[group]) for group in ("others", "running", "done")),
        reverse("pages:agent", args=["writer"]),
        reverse("pages:agent-withdraw", args=["writer", queries.agent(world.host, "writer").binding]),
        reverse("pages:start-action", args=["writer", "write"]),
        reverse("pages:approval", args=[approval.id]),
        reverse("pages:approval-edit", args=[approval.id]),
        reverse("pages:input", args=[asked.id]),
        *(reverse(f"pages:{name}", args=[approval.invocation]) for name in ("invocation", "transcript")),
        *(reverse(f"pages:{name}", args=[ended]) for name in ("invocation", "journal", "dispatch")),
        *(reverse(f"pages:{name}", args=[delivery]) for name in ("delivery", "delivery-cancel")),
        reverse("pages:delivery-retire", args=[delivery]),
        reverse("pages:affinity", args=[queries.affinity_of(world.host, UUID(ended)).id]),
        "/no/such/page",
        "/accounts/logout/",
    ]
    for place in places:
        yield place, browser.get(place)


def test_nothing_is_inline_and_every_form_is_complete(people: People, world: World) -> None:
    for place, page in pages(world, people("owner")):
        reader = Reader()
        reader.feed(page.content.decode())
        for tag, attributes in reader.elements:
            assert tag != "style", place
            assert "style" not in attributes, place
            assert not [name for name in attributes if name.startswith("on")], place
            if tag == "script":
                assert attributes.get("src"), place
                assert attributes.get("nonce"), place
            if "hx-get" in attributes and tag == "a":
                assert attributes["href"] == attributes["hx-get"], place
            # The module opens the socket: htmx would look for this before its extension has arrived.
            assert "hx-ws:connect" not in attributes, place
            if "hx-post" in attributes:
                assert (tag, attributes["action"]) == ("form", attributes["hx-post"]), place
        for found in (form for form in reader.forms if form["method"] == "post"):
            assert "csrfmiddlewaretoken" in found["names"], (place, found)
            outside = ("/preferences/", "/accounts/")
            if not str(found["action"]).startswith(outside):
                assert "key" in found["names"], (place, found)


def test_no_identity_stands_twice_in_a_page(people: People, world: World) -> None:
    for place, page in pages(world, people("owner")):
        identities = re.findall(r'\sid="([^"]+)"', page.content.decode())
        assert sorted(identities) == sorted(set(identities)), place


def test_every_page_speaks_chinese(people: People, world: World) -> None:
    browser = people("owner")
    browser.post(reverse("pages:language"), {"language": "zh-hans"})
    for place, page in pages(world, browser):
        html = page.content.decode()
        assert 'lang="zh-hans"' in html, place
        assert "Lifecycle Console" not in html, place


@pytest.mark.parametrize(("chosen", "given"), [("dark", "dark"), ("light", "light"), ("pink", "auto")])
def test_the_theme_is_remembered_without_a_script(people: People, chosen: str, given: str) -> None:
    browser = people("viewer")
    browser.post(reverse("pages:theme"), {"theme": chosen, "next": "/keys/"})
    assert f'data-theme="{given}"' in browser.get(reverse("pages:inbox")).content.decode()


@pytest.mark.parametrize("place", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_a_preference_leads_back_into_this_console_only(people: People, place: str) -> None:
    answer = people("viewer").post(reverse("pages:theme"), {"theme": "dark", "next": place})
    assert answer["Location"] == reverse("pages:inbox")


def test_a_person_of_two_tenants_changes_between_them(people: People, world: World) -> None:
    from lifecycle_core.application import members

    browser = people("owner")
    members.add(permissions.command_line("elsewhere"), username="owner", given=["viewer"])
    world.start(WRITE)
    assert len(browser.get(reverse("pages:inbox")).context["rows"]) == 1
    browser.post(reverse("pages:tenant"), {"tenant": "elsewhere"})
    assert browser.get(reverse("pages:inbox")).context["rows"] == []
    assert browser.post(reverse("pages:tenant"), {"tenant": "third"}).status_code == 403


@pytest.mark.parametrize(
    ("place", "status"), [("/approvals/6f1f4a5e-1111-4111-8111-111111111111/", 404), ("/nothing", 404)]
)
def test_an_error_is_a_page_of_the_house(people: People, place: str, status: int) -> None:
    answer = people("owner").get(place)
    assert answer.status_code == status
    assert "tokens.css" in answer.content.decode()


def test_a_refusal_leaves_the_other_parts_of_a_page_alone(people: People) -> None:
    place = reverse("pages:inbox-group", args=["nothing"])
    part = people("owner").get(place, headers={"HX-Request": "true", "HX-Target": "div#entries"})
    assert (part.status_code, part["HX-Reswap"]) == (404, "none")
    card = people("owner").get(
        "/approvals/6f1f4a5e-1111-4111-8111-111111111111/",
        headers={"HX-Request": "true", "HX-Target": "section#detail"},
    )
    assert card.content.decode().lstrip().startswith('<section id="detail"')


def test_a_card_alone_is_what_stands_in_the_page(people: People, world: World) -> None:
    approval, browser = world.approval(), people("owner")
    place = reverse("pages:approval", args=[approval.id])
    part = browser.get(place, headers={"HX-Request": "true", "HX-Target": "section#detail"}).content.decode()
    assert part.lstrip().startswith('<section id="detail"')
    assert "</html>" not in part


def test_after_the_last_decision_the_empty_pane_comes_back(people: People) -> None:
    headers = {"HX-Request": "true", "HX-Target": "section#detail"}
    part = people("owner").get(reverse("pages:inbox"), headers=headers).content.decode()
    assert part.lstrip().startswith('<section id="detail"')


def test_a_part_is_never_the_door(people: People) -> None:
    answer = people("").get(reverse("pages:inbox"), headers={"HX-Request": "true"})
    assert answer["HX-Redirect"] == "/accounts/login/"
    assert answer.content == b""


def test_the_inbox_is_narrowed_by_its_address(people: People, world: World) -> None:
    world.start(WRITE)
    world.start(ASK)
    browser = people("operator")
    for query, kinds in (
        ({"kind": "input"}, ["input"]),
        ({"tool": "files_write"}, ["approval"]),
        ({"text": "zz"}, []),
    ):
        page = browser.get(reverse("pages:inbox"), query)
        assert [row.kind for row, _ in page.context["rows"]] == kinds
        assert dict(page.context["groups"])["mine"] == len(kinds)


def refusals(of: type[errors.Refused]) -> Iterator[type[errors.Refused]]:
    for refusal in of.__subclasses__():
        yield refusal
        yield from refusals(refusal)


def test_every_refusal_is_said_in_chinese() -> None:
    every = [
        refused().sentence
        for refused in refusals(errors.Refused)
        if refused.__module__.startswith(("console", "lifecycle"))
    ]
    with translation.override("zh-hans"):
        for text in [*every, *permissions.SENTENCES.values()]:
            assert translation.gettext(text) != text, text


def test_the_table_of_sentences_repeats_the_contract() -> None:
    for refusal in (r for r in refusals(errors.Refused) if r.__module__ == errors.__name__):
        assert str(sentences.BY_CODE[refusal.code]) == refusal().sentence


def test_requests_of_one_tool_are_told_apart_by_what_they_are_about(people: People, world: World) -> None:
    world.start(WRITE)
    page = people("operator").get(reverse("pages:inbox")).content.decode()
    assert page.count('class="subject"') == 1
    assert "notes/a.md" in page
