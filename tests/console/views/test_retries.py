"""Another attempt, started in the browser."""

from uuid import UUID

import pytest
from django.urls import reverse

from lifecycle_core.application import permissions, queries
from lifecycle_core.testing.answers import Answer, Refusal
from tests.console.api.conftest import WRITE, World
from tests.console.views.conftest import People, form

pytestmark = pytest.mark.django_db

ADMIN = permissions.command_line("default")


@pytest.fixture
def failed(world: World) -> str:
    """Return an invocation whose model's server refused it."""
    world.script.answers.append(Refusal(status=400))
    invocation = world.start()
    assert queries.invocation(ADMIN, UUID(invocation)).status == "failed"
    return invocation


def place(name: str, invocation: str) -> str:
    return reverse(f"pages:{name}", args=[invocation])


def retried(people: People, invocation: str) -> str:
    owner = people("owner")
    answer = form(owner.get(place("retry", invocation)), "Start attempt 2").send(owner)
    assert answer.status_code == 302
    return str(answer["Location"]).strip("/").split("/")[-1]


def test_it_says_what_another_attempt_is_and_starts_it(people: People, failed: str, world: World) -> None:
    assert place("retry", failed) in people("owner").get(place("invocation", failed)).content.decode()
    page = people("owner").get(place("retry", failed)).content.decode()
    assert "No call was made so far." in page
    second = retried(people, failed)
    world.drive(second)
    item = queries.invocation(ADMIN, UUID(second))
    assert (item.attempt, item.parent, item.status) == (2, failed, "completed")


def test_the_attempts_lead_to_each_other(people: People, failed: str) -> None:
    second = retried(people, failed)
    viewer = people("viewer")
    first_page = viewer.get(place("invocation", failed)).content.decode()
    assert f'href="{place("invocation", second)}" rel="next"' in first_page
    assert "attempt 1" in first_page
    second_page = viewer.get(place("invocation", second)).content.decode()
    assert f'href="{place("invocation", failed)}" rel="prev"' in second_page
    assert "attempt 2" in second_page


def test_it_is_tried_again_once(people: People, failed: str) -> None:
    owner = people("owner")
    shown = form(owner.get(place("retry", failed)), "Start attempt 2")
    assert shown.send(owner)["Location"] == shown.send(owner)["Location"]
    assert place("retry", failed) not in owner.get(place("invocation", failed)).content.decode()
    page = owner.get(place("retry", failed))
    assert "It has been tried again already." in page.content.decode()
    again = owner.post(place("retry", failed), {"key": "another"})
    assert again.status_code == 409
    assert "This cannot be retried" in again.content.decode()
    [second] = [item.id for item in queries.invocations(ADMIN).items if item.parent == failed]
    assert f'href="{place("invocation", second)}"' in again.content.decode().partition("<main")[2]


@pytest.mark.parametrize("who", ["viewer", "operator", "coordinator", "auditor", "admin"])
def test_only_who_may_start_may_retry(people: People, failed: str, who: str) -> None:
    assert place("retry", failed) not in people(who).get(place("invocation", failed)).content.decode()
    assert people(who).get(place("retry", failed)).status_code == 403
    assert people(who).post(place("retry", failed)).status_code == 403
    assert queries.invocations(ADMIN).items[0].attempt == 1


def test_it_is_not_there_for_others(people: People, failed: str) -> None:
    assert people("owner@elsewhere").get(place("retry", failed)).status_code == 404
    assert people("host").post(place("retry", failed)).status_code == 404


def test_what_waits_or_has_completed_is_not_offered(people: People, world: World) -> None:
    owner = people("owner")
    for invocation in (world.start(WRITE), world.start()):
        assert place("retry", invocation) not in owner.get(place("invocation", invocation)).content.decode()
        page = owner.get(place("retry", invocation)).content.decode()
        assert "It cannot be tried again" in page
        assert "<form class=" not in page.partition("<main")[2].partition("</main>")[0]


def test_what_an_attempt_has_done_is_not_undone_and_is_said(people: People, world: World) -> None:
    world.script.answers += [Answer(calls=(WRITE,)), Refusal(status=400)]
    invocation = world.start()
    operator = people("operator")
    asked = queries.approvals(ADMIN, state="pending", invocation=UUID(invocation)).items[0]
    form(operator.get(reverse("pages:approval", args=[asked.id])), 'value="approve"').send(operator)
    world.drive(invocation)
    assert "1 call was made so far" in people("owner").get(place("retry", invocation)).content.decode()
