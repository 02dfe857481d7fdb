"""The feed over REST: nothing is missed, whoever waits is woken, and rights count while he waits."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import AsyncClient

from console import broadcast
from console.api import following
from lifecycle_core.access.models import Token
from lifecycle_core.application import members, permissions, tokens
from tests.console.api.conftest import ELSEWHERE, STRANGER, Api, World

PATIENCE = 20  # seconds after which a test fails instead of hanging


def run(test: Callable[[], Awaitable[Any]]) -> Any:
    """Run an asynchronous test that must end."""

    async def limited() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await test()

    return async_to_sync(limited)()


class Waiting:
    """Call the feed asynchronously."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.client = AsyncClient()

    async def get(self, query: str, who: str = "viewer", **headers: str) -> Any:
        given = {"Authorization": f"Bearer {self.api.bearers[who]}", **headers}
        return await self.client.get(f"/api/v1/feed?{query}", headers=given)

    async def stream(self, query: str, who: str = "viewer", **headers: str) -> AsyncIterator[dict[str, Any]]:
        response = await self.get(query, who, Accept="text/event-stream", **headers)
        assert response["Content-Type"] == "text/event-stream"
        async for block in response.streaming_content:
            fields = dict(line.split(": ", 1) for line in block.decode().strip().split("\n"))
            yield {**fields, "data": json.loads(fields["data"])}


async def listened() -> None:
    """Return once somebody waits."""
    while "default" not in broadcast._tails.get(asyncio.get_running_loop(), {}):
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def rested(api: Api) -> Iterator[None]:
    """Make the token that all use, and let no thread keep its connection to the test's database."""
    assert api.bearers["viewer"]
    yield
    broadcast.stop()


def test_pages_follow_each_other_without_a_gap(api: Api, world: World) -> None:
    world.start()
    whole = api.get("feed").json()
    assert [frame["position"] for frame in whole["items"]] == list(range(1, whole["head"] + 1))
    found: list[Any] = []
    after = "0"
    while True:
        page = api.get(f"feed?epoch={whole['epoch']}&after={after}&limit=3").json()
        if not page["items"]:
            break
        assert page["items"][0]["previous"] == int(after)
        found += page["items"]
        after = page["next"]
    assert found == whole["items"]


def test_a_frame_says_where_it_belongs(api: Api, world: World) -> None:
    invocation = world.start(delivery="release-7")
    frame = api.get("feed?limit=1").json()["items"][0]
    assert (frame["invocation"], frame["delivery"], frame["gap"]) == (invocation, "release-7", False)
    assert frame["event"] == api.get(f"invocations/{invocation}/events?limit=1").json()["items"][0]


@pytest.mark.parametrize("cursor", ["epoch=another&after=0", "after=9999", "epoch=another&after=9999"])
def test_a_cursor_that_fits_no_more_must_begin_anew(api: Api, world: World, cursor: str) -> None:
    world.start()
    page = api.get(f"feed?{cursor}").json()
    assert page["resync"] is True
    assert (page["items"], page["next"]) == ([], str(page["head"]))


def test_retired_events_are_a_gap_that_is_told(api: Api, world: World) -> None:
    world.start(delivery="release-7")
    world.start(delivery="release-8")
    api.post("deliveries/release-7/retire", {"authorization": "ticket-1"})
    frames = api.get("feed").json()["items"]
    assert frames[0]["gap"] is True
    assert [frame["previous"] for frame in frames] == [0, *[frame["position"] for frame in frames[:-1]]]


def test_a_host_follows_what_he_started_and_nothing_else(api: Api, world: World) -> None:
    invocation = world.start()
    frames = api.get(f"feed?invocation={invocation}", "host").json()["items"]
    assert {frame["invocation"] for frame in frames} == {invocation}
    assert api.get(f"feed?invocation={invocation}", STRANGER).status_code == 404
    assert api.get(f"feed?invocation={invocation}", f"owner@{ELSEWHERE}").status_code == 404


def test_without_waiting_the_answer_comes_at_once(api: Api, world: World) -> None:
    assert api.get("feed").json()["items"] == []


@pytest.mark.django_db(transaction=True)
def test_who_waits_gets_what_comes(api: Api, world: World) -> None:
    async def test() -> None:
        poll = asyncio.create_task(Waiting(api).get("after=0&wait=15"))
        await listened()
        invocation = await sync_to_async(world.start)()
        items = (await poll).json()["items"]
        assert items[0]["invocation"] == invocation

    run(test)


@pytest.mark.django_db(transaction=True)
def test_who_waits_in_vain_is_told_so(api: Api, world: World) -> None:
    async def test() -> None:
        page = (await Waiting(api).get("after=0&wait=0.01")).json()
        assert (page["items"], page["next"], page["resync"]) == ([], "0", False)

    run(test)


@pytest.mark.django_db(transaction=True)
def test_what_comes_between_look_and_wait_is_not_lost(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = following.first

    async def look_and_be_late(request: Any, cursor: Any) -> Any:
        page = await look(request, cursor)
        await sync_to_async(world.start)()
        return page

    monkeypatch.setattr(following, "first", look_and_be_late)

    async def test() -> None:
        assert (await Waiting(api).get("after=0&wait=15")).json()["items"]

    run(test)


@pytest.mark.django_db(transaction=True)
def test_a_person_who_signs_out_elsewhere_gets_nothing_more(api: Api, world: World) -> None:
    admin = permissions.command_line("default")
    members.add(admin, username="maria", given=["viewer"], password="correct-horse-battery")
    client = AsyncClient()
    client.force_login(User.objects.get(username="maria"))

    async def test() -> None:
        poll = asyncio.create_task(client.get("/api/v1/feed?after=0&wait=15"))
        await listened()
        await sync_to_async(Session.objects.all().delete)()
        await sync_to_async(world.start)()
        assert (await poll).status_code == 401

    run(test)


@pytest.mark.django_db(transaction=True)
def test_a_stream_brings_what_was_and_what_comes(api: Api, world: World) -> None:
    async def test() -> None:
        first = await sync_to_async(world.start)()
        stream = Waiting(api).stream("after=0")
        event = await anext(stream)
        assert event["event"] == "frame"
        assert event["data"]["invocation"] == first
        assert event["id"].endswith(":1")
        second = await sync_to_async(world.start)()
        async for event in stream:
            if event["data"]["invocation"] == second:
                return

    run(test)


@pytest.mark.django_db(transaction=True)
def test_a_stream_goes_on_where_it_was_broken(api: Api, world: World) -> None:
    async def test() -> None:
        await sync_to_async(world.start)()
        stream = Waiting(api).stream("after=0")
        await anext(stream)
        last = await anext(stream)
        again = Waiting(api).stream("after=0", **{"Last-Event-ID": last["id"]})
        following = await anext(again)
        assert following["data"]["previous"] == last["data"]["position"]

    run(test)


@pytest.mark.django_db(transaction=True)
def test_a_stream_that_fits_no_more_ends_with_where_to_begin(api: Api, world: World) -> None:
    async def test() -> None:
        await sync_to_async(world.start)()
        events = [event async for event in Waiting(api).stream("after=0", **{"Last-Event-ID": "another:7"})]
        assert [event["event"] for event in events] == ["resync"]
        assert events[0]["data"]["head"] > 0

    run(test)


@pytest.mark.django_db(transaction=True)
def test_a_revoked_token_ends_its_stream(api: Api, world: World) -> None:
    async def test() -> list[int]:
        await sync_to_async(world.start)()
        stream = Waiting(api).stream("after=0")
        await anext(stream)
        await sync_to_async(revoke)("viewer")
        await sync_to_async(world.start)()
        return [event["data"]["position"] async for event in stream]

    seen = run(test)
    happened_before = len(api.get("feed").json()["items"]) // 2
    assert max(seen) <= happened_before
    assert api.get("feed", "viewer").status_code == 401


def revoke(name: str) -> None:
    token = Token.objects.get(name=name, tenant="default")
    tokens.revoke(permissions.command_line("default"), UUID(str(token.pk)))


def test_a_stream_that_is_not_allowed_does_not_begin(api: Api, world: World) -> None:
    assert api.get("feed", "host", Accept="text/event-stream").status_code == 403
