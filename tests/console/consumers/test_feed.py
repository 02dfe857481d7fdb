"""`/ws/feed`: nothing missed, nothing twice, and only for those who may."""

import asyncio
import time
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from console import broadcast
from console.consumers import following, pressure
from lifecycle_core.application import feed, members, permissions, tokens
from lifecycle_core.contract.actor import Actor
from tests.console.api.conftest import WRITE, Api, World
from tests.console.consumers.conftest import Closed, Headers, Play, bearer, cookie, opened

pytestmark = pytest.mark.django_db(transaction=True)

FROM_THE_BEGINNING = {"cursor": {"epoch": "", "position": 0}}
NOWHERE = {"cursor": None}


def admin() -> Actor:
    return permissions.command_line("default")


def head() -> tuple[str, int]:
    return feed.head(admin())


def test_it_tells_every_fact_in_order_and_then_follows(api: Api, world: World, play: Play) -> None:
    world.start(WRITE)
    epoch, last = head()

    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["viewer"])) as socket:
            await socket.send(FROM_THE_BEGINNING)
            told = await socket.until(last)
            await sync_to_async(world.start)(WRITE)
            _, further = await sync_to_async(head)()
            told += await socket.until(further)
        assert [frame["position"] for frame in told] == list(range(1, further + 1))
        assert [frame["previous"] for frame in told] == list(range(further))
        assert {frame["epoch"] for frame in told} == {epoch}
        assert not any(frame["gap"] for frame in told)
        assert told[0]["event"]["at"].endswith("Z")

    play(scene)


def test_who_comes_back_misses_nothing_and_hears_nothing_twice(api: Api, world: World, play: Play) -> None:
    async def scene() -> None:
        heard: list[int] = []
        cursor = {"epoch": "", "position": 0}
        for _ in range(4):
            await sync_to_async(world.start)(WRITE)
            async with opened("/ws/feed", bearer(api.bearers["viewer"])) as socket:
                await socket.send({"cursor": cursor})
                while len(heard) % 5 != 4:
                    frame = await socket.frame()
                    if frame["type"] == "event":
                        heard.append(frame["position"])
                        cursor = {"epoch": frame["epoch"], "position": frame["position"]}
                heard.append(-1)
        positions = [position for position in heard if position > 0]
        assert positions == list(range(1, len(positions) + 1))

    play(scene)


@pytest.mark.parametrize("cursor", [{"epoch": "another", "position": 1}, {"epoch": None, "position": 10**9}])
def test_a_cursor_that_means_nothing_here_must_resync(
    api: Api, world: World, play: Play, cursor: dict[str, Any]
) -> None:
    world.start(WRITE)
    epoch, last = head()

    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["viewer"])) as socket:
            await socket.send({"cursor": {**cursor, "epoch": cursor["epoch"] or epoch}})
            assert await socket.frame() == {"type": "resync", "epoch": epoch, "position": last}
            assert (await socket.frame())["type"] == "bookmark"

    play(scene)


def test_without_a_cursor_it_begins_at_the_head(api: Api, world: World, play: Play) -> None:
    world.start(WRITE)
    _, last = head()

    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["viewer"])) as socket:
            await socket.send(NOWHERE)
            bookmark = await socket.frame()
            assert (bookmark["type"], bookmark["position"], bookmark["head"]) == ("bookmark", last, last)

    play(scene)


def test_who_is_far_behind_reads_from_the_database(
    api: Api, world: World, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcast, "KEPT", 4)
    monkeypatch.setattr(broadcast, "STRETCH", 3)

    async def scene() -> None:
        async with (
            opened("/ws/feed", bearer(api.bearers["viewer"])) as early,
            opened("/ws/feed", bearer(api.bearers["viewer"])) as late,
        ):
            await early.send(FROM_THE_BEGINNING)
            await sync_to_async(world.start)(WRITE)
            _, last = await sync_to_async(head)()
            first = await early.until(last)
            await late.send(FROM_THE_BEGINNING)
            assert await late.until(last) == first
            assert [frame["position"] for frame in first] == list(range(1, last + 1))

    play(scene)


def test_another_tenant_hears_nothing(api: Api, world: World, play: Play) -> None:
    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["viewer@elsewhere"])) as socket:
            await socket.send(FROM_THE_BEGINNING)
            assert (await socket.frame())["type"] == "bookmark"
            await sync_to_async(world.start)(WRITE)
            assert await socket.ends.receive_nothing(0.3)  # type: ignore[no-untyped-call]

    play(scene)


@pytest.mark.parametrize("token", ["", "lcc_wrong", "x" * 500])
def test_who_nobody_knows_is_refused_before_the_handshake(world: World, play: Play, token: str) -> None:
    async def scene() -> None:
        with pytest.raises(Closed):
            async with opened("/ws/feed", bearer(token)):
                pass

    play(scene)


def test_a_host_may_not_read_the_whole_tenant(api: Api, world: World, play: Play) -> None:
    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["host"])) as socket:
            await socket.send(FROM_THE_BEGINNING)
            assert await socket.closing() == following.NOT_ALLOWED

    play(scene)


@pytest.mark.parametrize(
    "first",
    [
        "",
        "{",
        "[]",
        "7",
        '{"approve": 1}',
        '{"cursor": 3}',
        '{"cursor": {"epoch": 1, "position": 1}}',
        '{"cursor": {"epoch": "", "position": -1}}',
        '{"cursor": {"epoch": "", "position": true}}',
        '{"cursor": {"epoch": "", "position": 1e3}}',
        '{"cursor": null, "pad": "' + "x" * 5000 + '"}',
        "[" * 2000,
    ],
)
def test_a_first_frame_that_is_none_closes(api: Api, world: World, play: Play, first: str) -> None:
    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["viewer"])) as socket:
            await socket.send(first)
            assert await socket.closing() == following.BAD_FRAME

    play(scene)


def test_it_is_read_only(api: Api, world: World, play: Play) -> None:
    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["owner"])) as socket:
            await socket.send(NOWHERE)
            await socket.frame()
            await socket.send({"decision": "approve"})
            assert await socket.closing() == following.BAD_FRAME

    play(scene)


def test_a_silent_client_is_not_kept(
    api: Api, world: World, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "FIRST_FRAME_WITHIN", 0.05)

    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["viewer"])) as socket:
            assert await socket.closing() == following.BAD_FRAME

    play(scene)


class TestLeaving:
    """Whoever loses the right to be there is shown out within a second and hears nothing more."""

    @pytest.fixture
    def person(self, world: World) -> Client:
        user = User.objects.create(username="maria")
        members.add(admin(), username="maria", given=["operator"])
        client = Client()
        client.force_login(user)
        return client

    def shown_out(self, play: Play, headers: Headers, cause: Any) -> None:
        async def scene() -> None:
            async with opened("/ws/feed", headers) as socket:
                await socket.send(NOWHERE)
                await socket.frame()
                await sync_to_async(cause)()
                since = time.monotonic()
                assert await socket.closing() == following.SIGNED_OUT
                assert time.monotonic() - since < 1.0

        play(scene)

    def test_by_signing_out(self, play: Play, person: Client) -> None:
        headers = cookie(person)
        self.shown_out(play, headers, lambda: person.logout())

    def test_by_losing_the_membership(self, play: Play, person: Client) -> None:
        self.shown_out(play, cookie(person), lambda: members.remove(admin(), username="maria"))

    def test_by_losing_a_role(self, play: Play, person: Client) -> None:
        self.shown_out(play, cookie(person), lambda: members.add(admin(), username="maria", given=["viewer"]))

    def test_by_a_closed_account(self, play: Play, person: Client) -> None:
        self.shown_out(
            play, cookie(person), lambda: User.objects.filter(username="maria").update(is_active=False)
        )

    def test_by_another_password(self, play: Play, person: Client) -> None:
        def change() -> None:
            user = User.objects.get(username="maria")
            user.set_unusable_password()
            user.save()

        self.shown_out(play, cookie(person), change)

    def test_by_a_revoked_token(self, play: Play, world: World) -> None:
        text, item = tokens.create(admin(), name="gone", roles=["viewer"])
        self.shown_out(play, bearer(text), lambda: tokens.revoke(admin(), UUID(item.id)))

    def test_nobody_else_is(self, play: Play, world: World, person: Client, api: Api) -> None:
        async def scene() -> None:
            async with (
                opened("/ws/feed", cookie(person)) as leaving,
                opened("/ws/feed", bearer(api.bearers["viewer"])) as staying,
            ):
                for socket in (leaving, staying):
                    await socket.send(NOWHERE)
                    await socket.frame()
                await sync_to_async(person.logout)()
                assert await leaving.closing() == following.SIGNED_OUT
                await sync_to_async(world.start)(WRITE)
                assert (await staying.frame())["type"] == "event"

        play(scene)


class TestSlow:
    def test_a_socket_that_is_not_read_is_closed_with_a_reason(
        self, api: Api, world: World, play: Play, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(following, "DRAINED_WITHIN", 0.1)

        async def scene() -> None:
            full = {pressure.KEY: lambda: following.FULL + 1}
            async with opened("/ws/feed", bearer(api.bearers["viewer"]), **full) as socket:
                await socket.send(FROM_THE_BEGINNING)
                assert await socket.closing() == following.SLOW

        play(scene)

    def test_it_does_not_hold_up_the_others(self, api: Api, world: World, play: Play) -> None:
        async def scene() -> None:
            full = {pressure.KEY: lambda: following.FULL + 1}
            async with (
                opened("/ws/feed", bearer(api.bearers["viewer"]), **full) as stalled,
                opened("/ws/feed", bearer(api.bearers["viewer"])) as brisk,
            ):
                for socket in (stalled, brisk):
                    await socket.send(NOWHERE)
                    await socket.frame()
                await sync_to_async(world.start)(WRITE)
                _, last = await sync_to_async(head)()
                assert (await brisk.until(last))[-1]["position"] == last

        play(scene)

    def test_one_that_catches_up_in_time_stays(self, api: Api, world: World, play: Play) -> None:
        async def scene() -> None:
            waiting = iter([following.FULL + 1, following.FULL, 0])
            scope = {pressure.KEY: lambda: next(waiting, 0)}
            async with opened("/ws/feed", bearer(api.bearers["viewer"]), **scope) as socket:
                await socket.send(NOWHERE)
                assert (await socket.frame())["type"] == "bookmark"
                await sync_to_async(world.start)(WRITE)
                assert (await socket.frame())["type"] == "event"

        play(scene)


def test_twenty_sockets_cost_one_reader(
    api: Api, world: World, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    true = feed.read

    def counted(*args: Any, **kwargs: Any) -> Any:
        page = true(*args, **kwargs)
        reads.extend(frame.position for frame in page.frames)
        return page

    monkeypatch.setattr(feed, "read", counted)

    async def scene() -> None:
        async def one() -> list[int]:
            async with opened("/ws/feed", bearer(api.bearers["viewer"])) as socket:
                await socket.send(NOWHERE)
                await socket.frame()
                ready.release()
                await go.wait()
                return [frame["position"] for frame in await socket.until(last)]

        ready, go, last = asyncio.Semaphore(0), asyncio.Event(), 0
        crowd = [asyncio.create_task(one()) for _ in range(20)]
        for _ in crowd:
            await ready.acquire()
        await sync_to_async(world.start)(WRITE)
        _, last = await sync_to_async(head)()
        go.set()
        heard = await asyncio.gather(*crowd)
        assert all(positions == heard[0] for positions in heard)
        assert sorted(reads) == heard[0]

    play(scene)


def test_an_address_that_is_no_socket_is_refused(api: Api, play: Play) -> None:
    async def scene() -> None:
        for path in ("/ws/nope", "/ws/feed/more", "/"):
            with pytest.raises(Closed):
                async with opened(path, bearer(api.bearers["viewer"])):
                    pass

    play(scene)
