"""Sessions and leases: who shares, holds and waits, and who drives what now."""

from uuid import UUID

import pytest
from django.urls import reverse

from lifecycle_core.application import (
    agents,
    bootstrap,
    cancellations,
    invocations,
    permissions,
    queries,
    work,
)
from lifecycle_core.contract import events
from lifecycle_core.contract.ports import Change, Claim
from lifecycle_core.contract.status import Status
from lifecycle_core.engine.interruption import Interruption
from lifecycle_core.testing.answers import Answer
from tests.console.api.conftest import AGENT, WRITE, World
from tests.console.views.conftest import People

pytestmark = pytest.mark.django_db

CHORUS = AGENT.replace('"writer"', '"chorus"').replace(
    'workspace = "desk"',
    'workspace = "desk"\nsession = {{ scope = "data-bound", source = "about", isolation = "shared" }}',
)


def start(world: World, delivery: str = "d-1") -> str:
    item = invocations.start(
        world.host, agent="chorus", action="write", input={"about": "foxes"}, delivery=delivery
    )
    return item.id


def drive() -> None:
    for found in work.claimable(10):
        work.drive(found.invocation, "test", Interruption())


@pytest.fixture
def two(world: World) -> tuple[str, str]:
    """Return an invocation that waits for people and one that waits for its session."""
    admin = permissions.command_line("default")
    agents.apply(admin, CHORUS.format(base_url=queries.agent(admin, "writer").base_url))
    world.script.answers.append(Answer(calls=(WRITE,)))
    first = start(world)
    drive()
    second = start(world)
    drive()
    return first, second


def affinity(invocation: str) -> str:
    return queries.affinity_of(permissions.command_line("default"), UUID(invocation)).id


def test_a_shared_session_says_who_holds_it_and_who_waits(people: People, two: tuple[str, str]) -> None:
    first, second = two
    assert affinity(first) == affinity(second)
    page = people("viewer").get(reverse("pages:affinity", args=[affinity(first)])).content.decode()
    assert page.count("holds it now") == page.count("waits for it") == 1
    assert page.index(first) < page.index("holds it now") < page.index(second) < page.index("waits for it")
    assert "one after the other" in page
    assert "about" in page
    assert 'data-derived="differs"' not in page


def test_the_list_is_narrowed_to_a_delivery_and_to_shared_sessions(
    people: People, two: tuple[str, str], world: World
) -> None:
    world.start()
    browser, place = people("viewer"), reverse("pages:affinities")
    assert len(browser.get(place).context["rows"]) == 2
    for query in ({"shared": "yes"}, {"delivery": "d-1"}):
        [(found, state, waiting)] = browser.get(place, query).context["rows"]
        assert (found.id, state, waiting) == (affinity(two[0]), "held", 1)
    assert "Nothing fits the filter" in browser.get(place, {"delivery": "d-2"}).content.decode()


def test_who_waits_says_for_whom_until_it_has_the_session(people: People, two: tuple[str, str]) -> None:
    first, second = two
    viewer = people("viewer")
    waits = viewer.get(reverse("pages:invocation", args=[second])).content.decode()
    assert "waits for a session" in waits
    assert reverse("pages:invocation", args=[first]) in waits
    assert "waits for a session" not in viewer.get(reverse("pages:invocation", args=[first])).content.decode()
    place = reverse("pages:invocation-part", args=[second, "queue"])
    assert "waits for a session" in viewer.get(place).content.decode()
    cancellations.cancel(permissions.command_line("default"), UUID(first))
    drive()
    assert "waits for a session" not in viewer.get(place).content.decode()


def test_every_place_that_speaks_of_a_session_leads_to_it(people: People, two: tuple[str, str]) -> None:
    place = reverse("pages:affinity", args=[affinity(two[0])])
    viewer = people("viewer")
    for name in ("invocation", "dispatch"):
        assert place in viewer.get(reverse(f"pages:{name}", args=[two[0]])).content.decode()
    delivery = queries.invocation(permissions.command_line("default"), UUID(two[0])).delivery_id
    page = viewer.get(reverse("pages:delivery", args=[delivery])).content.decode()
    assert f"{reverse('pages:affinities')}?delivery=d-1" in page


def test_a_session_is_not_there_for_who_sees_none_of_its_invocations(
    people: People, two: tuple[str, str]
) -> None:
    place = reverse("pages:affinity", args=[affinity(two[0])])
    assert people("viewer").get(place).status_code == 200
    assert people("owner@elsewhere").get(place).status_code == 404
    assert people("host").get(place).status_code == 404
    assert people("host").get(reverse("pages:affinities")).context["rows"] == []
    assert people("").get(place).status_code == 302


def test_a_lease_says_who_drives_what(people: People, world: World) -> None:
    viewer, place = people("viewer"), reverse("pages:leases")
    assert "Nothing is being driven now" in viewer.get(place).content.decode()
    item = invocations.start(world.host, agent="writer", action="write", input={"about": "x"})
    seize(item.id)
    page = viewer.get(place).content.decode()
    for said in ("worker-7", reverse("pages:invocation", args=[item.id]), "data-until"):
        assert said in page
    assert "worker-7" not in people("owner@elsewhere").get(place).content.decode()
    assert "worker-7" not in people("host").get(place).content.decode()


def seize(invocation: str) -> None:
    """Take the lease of an invocation, as a worker does."""
    bootstrap.journal().append(
        Change(
            invocation=UUID(invocation),
            actor="system:worker",
            at_ms=bootstrap.clock().now_ms(),
            transitions={Status.STARTING: Status.STARTING},
            events=(events.InvocationClaimed(worker="worker-7", token=1),),
            claim=Claim(worker="worker-7", ttl_ms=60_000, seen_token=0),
        )
    )
