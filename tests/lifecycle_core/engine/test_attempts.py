"""Attempts that a host has named: whatever their names are, they follow each other, and a retry follows the last of them."""

import dataclasses
import threading
from typing import Any, Final
from uuid import UUID

import pytest

from lifecycle_core.application import (
    agents,
    cancellations,
    composition,
    hosting,
    invocations,
    queries,
    retries,
)
from lifecycle_core.application.reading import attempts
from lifecycle_core.contract import errors, identities
from lifecycle_core.contract.identities import EpisodeRef, SiteRef
from lifecycle_core.contract.ports import Appended
from lifecycle_core.engine import dispatches
from lifecycle_core.engine.host import Checked
from lifecycle_core.journal import blobs
from lifecycle_core.journal.models import DispatchRow
from tests.lifecycle_core.engine import world as w
from tests.lifecycle_core.engine.world import ANN, HOST, World
from tests.lifecycle_core.journal import racing

pytestmark = pytest.mark.django_db

BIG: Final = 10**9


def ours(episode: EpisodeRef, number: int) -> str:
    """Return the name that we would give to an attempt."""
    return identities.host_identity("attempt", episode.thread, episode.site, number)


def place(**changes: Any) -> EpisodeRef:
    """Return an episode that a host has thought of."""
    agent = agents.current(w.TENANT, "worker")
    return dataclasses.replace(composition.new_episode(w.TENANT, agent, w.ACTION, "d1"), **changes)


def brought(episode: EpisodeRef, name: str, value: Any = None, by: Any = ANN) -> UUID:
    """Start a complete dispatch of an attempt that its host has named, and cancel it, so that it may be tried again."""
    agent = agents.current(w.TENANT, "worker")
    attempt = dataclasses.replace(episode, attempt=name)
    given = composition.compose(w.TENANT, agent, w.ACTION, value or {}, attempt)
    started = UUID(invocations.start_dispatch(by, dispatch=given.as_json()).id)
    cancellations.cancel(ANN, started)
    return started


def tried(world: World, invocation: UUID) -> UUID:
    """Try an invocation again, and cancel what was started."""
    again = UUID(retries.retry(ANN, invocation).id)
    cancellations.cancel(ANN, again)
    return again


def line(world: World, *ids: UUID) -> list[tuple[int, str | None]]:
    return [(world.item(each).attempt, world.item(each).parent) for each in ids]


def following(invocation: UUID) -> str:
    """Return the attempt that a refusal to try one again names."""
    with pytest.raises(errors.RetryRefused) as refused:
        retries.retry(ANN, invocation)
    return refused.value.following


HOSTILE: Final = {
    "a word": "try-2",
    "another word": "zwei",
    "a number": "2",
    "digits of another script": "\u0662",
    "a circled digit": "\u2461",
    "a huge number": "9" * 250,
    "what a pattern would match": "%_\\\\%",
    "a quote": '"},"attemptIdentity":"',
    "nearly ours": "attempt." + "0" * 64,
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_an_attempt_with_any_name_follows_and_is_followed(world: World, name: str) -> None:
    episode = place(invocation=f"{name[:100]}-i")
    first = brought(episode, name)
    second = brought(episode, f"{name[:200]}!")
    third = tried(world, second)
    fourth = tried(world, third)
    assert line(world, first, second, third, fourth) == [
        (1, None),
        (2, str(first)),
        (3, str(second)),
        (4, str(third)),
    ]
    assert [following(each) for each in (first, second, third)] == [str(second), str(third), str(fourth)]
    assert read(third).attempt == ours(episode, 3)


def read(invocation: UUID) -> EpisodeRef:
    return dispatches.read(queries.dispatch(ANN, invocation)).episode


def test_a_host_that_is_ahead_with_our_own_numbers_is_followed_from_there(world: World) -> None:
    episode = place()
    first = brought(episode, ours(episode, 1))
    ahead = brought(episode, ours(episode, 7))
    back = brought(episode, ours(episode, 2))
    last = tried(world, back)
    assert line(world, first, ahead, back, last) == [
        (1, None),
        (7, str(first)),
        (8, str(ahead)),
        (9, str(back)),
    ]
    assert following(first) == str(ahead)


@pytest.mark.parametrize("number", [3, 100, 101, BIG])
def test_a_name_that_is_taken_is_passed_over(world: World, number: int) -> None:
    """Our own name of the number that comes next stands at another site of the same invocation, where a host has put it."""
    episode = place(attempt="one")
    first = brought(episode, "one")
    elsewhere = dataclasses.replace(episode, site=SiteRef(node="elsewhere"))
    agent = agents.current(w.TENANT, "worker")
    for taken in (2, number):
        given = dataclasses.replace(elsewhere, attempt=ours(episode, taken))
        dispatch = composition.compose(w.TENANT, agent, w.ACTION, {}, given)
        invocations.start_dispatch(ANN, dispatch=dispatch.as_json())
    again = tried(world, first)
    wanted = 4 if number == 3 else 3
    assert line(world, again) == [(wanted, str(first))]
    assert read(again).attempt == ours(episode, wanted)
    assert retries.outlook(ANN, world.item(again)).number == wanted + 1


def test_another_thread_site_invocation_or_delivery_is_no_predecessor(world: World) -> None:
    episode = place()
    brought(episode, "one")
    thread = dataclasses.replace(episode.thread, identity="another")
    other_delivery = place().thread
    others = [
        dataclasses.replace(episode, thread=thread),
        dataclasses.replace(episode, site=SiteRef(node="another")),
        dataclasses.replace(episode, invocation=episode.invocation + "0"),
        dataclasses.replace(episode, invocation=episode.invocation[:-1]),
        dataclasses.replace(episode, invocation=episode.invocation.upper()),
        dataclasses.replace(episode, thread=other_delivery),
    ]
    found = [brought(other, f"two-{number}") for number, other in enumerate(others)]
    assert line(world, *found) == [(1, None)] * len(others)


def test_a_dispatch_that_is_stored_elsewhere_since_it_is_large_is_found_too(world: World) -> None:
    episode = place()
    first = brought(episode, "one", {"text": "x" * blobs.INLINE_BYTES})
    assert DispatchRow.objects.get(pk=first).body.startswith('{"$blob"')
    second = brought(episode, "two", {"text": "x"})
    third = tried(world, second)
    assert line(world, second, third) == [(2, str(first)), (3, str(second))]
    assert following(first) == str(second)


def test_a_dispatch_that_cannot_be_read_is_not_tried_again_and_stops_no_other(world: World) -> None:
    episode = place()
    first = brought(episode, "one")
    second = brought(episode, "two")
    DispatchRow.objects.filter(pk=first).update(body='{"$blob":"sha256:gone","bytes":1}')
    assert following(first) == ""
    assert not retries.outlook(ANN, world.item(first)).allowed
    assert line(world, tried(world, second)) == [(2 + 1, str(second))]


def test_who_may_not_see_the_follower_is_told_that_there_is_one_and_no_more(world: World) -> None:
    episode = place()
    first = brought(episode, "one", by=HOST)
    brought(episode, "two")
    with pytest.raises(errors.RetryRefused) as refused:
        retries.retry(HOST, first)
    assert refused.value.following == ""
    assert retries.outlook(HOST, world.item(first)).following is None


@dataclasses.dataclass
class Late:
    """Let somebody else come first, between the check of a start and its admission."""

    host: Any
    first: Any

    def check(self, new: Any) -> Checked:
        checked: Checked = self.host.check(new)
        first, self.first = self.first, lambda: None
        first()
        return checked

    def admit(self, checked: Checked) -> Appended:
        appended: Appended = self.host.admit(checked)
        return appended


def test_a_host_that_takes_the_name_meanwhile_is_the_follower(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = place()
    first = brought(episode, "one")
    found: list[UUID] = []
    late = Late(hosting.host(), lambda: found.append(brought(episode, ours(episode, 2))))
    monkeypatch.setattr(hosting, "host", lambda: late)
    assert following(first) == str(found[0])
    assert line(world, tried(world, found[0])) == [(3, str(found[0]))]


def test_the_same_command_that_was_carried_out_meanwhile_has_its_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second has seen no answer, and then it sees the attempt that the first has made: it is its own."""
    first = brought(place(), "one")
    made: list[str] = []
    at_same = attempts.at_same

    def late(row: Any) -> Any:
        monkeypatch.setattr(attempts, "at_same", at_same)
        made.append(retries.retry(ANN, first, key="k").id)
        return at_same(row)

    monkeypatch.setattr(attempts, "at_same", late)
    assert retries.retry(ANN, first, key="k").id == made[0]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["try-2", "\u0662", "ours"])
def test_of_two_retries_of_a_named_attempt_exactly_one_starts(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    episode = place()
    brought(episode, "one")
    second = brought(episode, ours(episode, 2) if name == "ours" else name)
    barrier = threading.Barrier(2)
    next_of = attempts.Attempts.next

    def together(existing: Any) -> Any:
        found = next_of(existing)
        barrier.wait(racing.SECONDS)
        return found

    monkeypatch.setattr(attempts.Attempts, "next", together)
    results = racing.together(*[lambda: retries.retry(ANN, second).id] * 2)
    [winner] = racing.won(results)
    [loser] = [result for result in results if isinstance(result, Exception)]
    assert isinstance(loser, errors.RetryRefused)
    assert loser.following == winner
    assert len(queries.invocations(ANN).items) == 3
