"""`/ws/pages`: what is the same for all is pushed, what depends on the viewer is hinted at."""

import itertools
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from console import lines
from console.consumers import following, parts
from lifecycle_core.application import (
    cancellations,
    deliveries,
    feed,
    invocations,
    members,
    permissions,
    queries,
)
from lifecycle_core.contract.actor import Actor
from lifecycle_core.testing.answers import Answer, Call
from tests.console.api.conftest import ASK, WRITE, Api, World
from tests.console.consumers.conftest import Headers, Play, Socket, bearer, cookie, opened

pytestmark = pytest.mark.django_db(transaction=True)


def admin() -> Actor:
    return permissions.command_line("default")


def head() -> int:
    return feed.head(admin())[1]


async def watch(socket: Socket, view: str = "") -> None:
    await socket.send({"cursor": None, "view": view})
    assert (await socket.frame())["type"] == "bookmark"


async def told_by(socket: Socket, cause: Any) -> list[Any]:
    """Return what a socket is told about something that happens."""
    await sync_to_async(cause)()
    return await socket.until(await sync_to_async(head)())


def test_a_status_is_pushed_to_every_page_as_its_chip(api: Api, world: World, play: Play) -> None:
    async def scene() -> None:
        async with opened("/ws/pages", bearer(api.bearers["viewer"])) as socket:
            await watch(socket)
            told = await told_by(socket, lambda: world.start(WRITE))
            chips = "".join(message["chips"] for message in told)
            assert 'data-state="awaiting-input"' in chips
            assert "hx-swap-oob" in chips
            assert all(message["rows"] == [] for message in told)

    play(scene)


def test_the_messages_chain(api: Api, world: World, play: Play) -> None:
    async def scene() -> None:
        async with opened("/ws/pages", bearer(api.bearers["viewer"])) as socket:
            await watch(socket)
            told = await told_by(socket, lambda: world.start(WRITE))
            told += await told_by(socket, lambda: world.start(ASK))
            for before, after in itertools.pairwise(told):
                assert after["previous"] == before["position"]

    play(scene)


def test_what_is_retired_is_told_to_nobody_who_comes_later(api: Api, world: World, play: Play) -> None:
    async def scene() -> None:
        async with (
            opened("/ws/feed", bearer(api.bearers["viewer"])) as early,
            opened("/ws/feed", bearer(api.bearers["viewer"])) as late,
        ):
            await early.send({"cursor": {"epoch": "", "position": 0}})
            await early.frame()
            invocation = await sync_to_async(world.start)()
            assert await early.until(await sync_to_async(head)())
            await sync_to_async(retire)(world, invocation)
            assert await early.until(await sync_to_async(head)())
            await late.send({"cursor": {"epoch": "", "position": 0}})
            told = await late.until(await sync_to_async(head)())
            assert [frame["event"]["kind"] for frame in told] == ["delivery.retired"]
            assert told[0]["gap"] is True

    play(scene)


def retire(world: World, invocation: str) -> None:
    delivery = queries.invocation(world.host, UUID(invocation)).delivery_id
    deliveries.retire(admin(), UUID(delivery), authorization="ticket")


def test_a_request_and_its_end_are_hinted_at(api: Api, world: World, play: Play) -> None:
    async def scene() -> None:
        async with opened("/ws/pages", bearer(api.bearers["viewer"])) as socket:
            await watch(socket)
            asked = await told_by(socket, lambda: world.start(WRITE))
            assert any(message["hints"]["inbox"] for message in asked)
            assert any(message["hints"]["started"] for message in asked)
            approval = (await sync_to_async(queries.approvals)(world.host, state="pending")).items[0]
            ended = await told_by(socket, lambda: cancel(approval.invocation))
            assert [r for message in ended for r in message["hints"]["requests"]] == [approval.id]
            assert [i for message in ended for i in message["hints"]["ended"]] == [approval.invocation]

    play(scene)


def cancel(invocation: str) -> None:
    cancellations.cancel(admin(), UUID(invocation))


@pytest.mark.parametrize(
    ("depth", "row"), [("timeline", "line-invocation"), ("journal", "fact-"), ("transcript", "entry-")]
)
def test_the_rows_of_the_open_invocation_are_pushed(
    api: Api, world: World, play: Play, depth: str, row: str
) -> None:
    invocation = world.start(WRITE)

    async def scene() -> None:
        async with opened("/ws/pages", bearer(api.bearers["viewer"])) as socket:
            await watch(socket, f"invocation:{invocation}:{depth}")
            told = await told_by(socket, lambda: cancel(invocation))
            rows = [part for message in told for part in message["rows"]]
            assert any(part["id"].startswith(row) for part in rows)
            assert all(f'id="{part["id"]}"' in part["html"] for part in rows)
            others = await told_by(socket, lambda: world.start(WRITE))
            assert all(message["rows"] == [] for message in others)

    play(scene)


def test_the_pushed_lines_are_those_of_the_page(api: Api, world: World, play: Play) -> None:
    invocation = world.start(WRITE)

    async def scene() -> None:
        async with opened("/ws/pages", bearer(api.bearers["viewer"])) as socket:
            await watch(socket, f"invocation:{invocation}:timeline")
            told = await told_by(socket, lambda: cancel(invocation))
            pushed = {part["id"]: part["html"] for message in told for part in message["rows"]}
            rows = await sync_to_async(queries.timeline)(admin(), UUID(invocation))
            shown = {f"line-{row.key}": parts.line(invocation, row, "en").html for row in rows}
            assert pushed
            assert all(shown[identity] == html for identity, html in pushed.items())

    play(scene)


def test_lines_that_nobody_watched_are_caught_up(api: Api, world: World, play: Play) -> None:
    invocation = world.start(WRITE)

    async def scene() -> None:
        lines.forget()
        async with opened("/ws/pages", bearer(api.bearers["viewer"])) as socket:
            await socket.send(
                {"cursor": {"epoch": "", "position": 0}, "view": f"invocation:{invocation}:timeline"}
            )
            told = await socket.until(await sync_to_async(head)())
            rows = {part["id"] for message in told if message["type"] == "parts" for part in message["rows"]}
            assert "line-invocation" in rows

    play(scene)


def test_what_it_may_not_see_is_not_told_to_a_host(api: Api, world: World, play: Play) -> None:
    own = world.start(WRITE)

    async def scene() -> None:
        async with opened("/ws/pages", bearer(api.bearers["host"])) as socket:
            await watch(socket, f"invocation:{own}:journal")
            told = await told_by(socket, lambda: others_start(world))
            text = "".join(message["chips"] + str(message["rows"]) for message in told)
            assert "data-state" not in text
            mine = await told_by(socket, lambda: cancel(own))
            assert any(message["rows"] for message in mine)

    def others_start(world: World) -> None:
        invocations.start(admin(), agent="writer", action="write", input={"about": "secret"})

    play(scene)


def test_a_view_of_another_tenant_shows_nothing(api: Api, world: World, play: Play) -> None:
    invocation = world.start(WRITE)

    async def scene() -> None:
        async with opened("/ws/pages", bearer(api.bearers["viewer@elsewhere"])) as socket:
            await watch(socket, f"invocation:{invocation}:journal")
            await sync_to_async(cancel)(invocation)
            assert await socket.ends.receive_nothing(0.3)  # type: ignore[no-untyped-call]

    play(scene)


def test_whoever_is_signed_out_is_told_so(world: World, play: Play) -> None:
    async def scene() -> None:
        async with opened("/ws/pages", []) as socket:
            assert await socket.closing() == following.SIGNED_OUT

    play(scene)


def test_parts_come_in_the_language_of_the_page(world: World, play: Play) -> None:
    user = User.objects.create(username="mei")
    members.add(admin(), username="mei", given=["viewer"])
    client = Client()
    client.force_login(user)
    name, value = cookie(client)[0]
    headers: Headers = [(name, value + b"; django_language=zh-hans")]

    async def scene() -> None:
        async with opened("/ws/pages", headers) as socket:
            await watch(socket)
            told = await told_by(socket, lambda: world.start(WRITE))
            assert "等待人员" in "".join(message["chips"] for message in told)

    play(scene)


def test_an_agents_text_is_escaped_in_what_is_pushed(api: Api, world: World, play: Play) -> None:
    hostile = Call(
        tool="files_write",
        arguments={"path": "notes/a.md", "content": '<img src=x hx-get="/inbox/">\u202e<hx-partial>'},
    )

    async def scene() -> None:
        for depth in ("journal", "transcript"):
            started = await sync_to_async(invocations.start)(
                world.host, agent="writer", action="write", input={"about": "x"}
            )
            world.script.answers.append(Answer(calls=(hostile,)))
            async with opened("/ws/pages", bearer(api.bearers["viewer"])) as socket:
                await watch(socket, f"invocation:{started.id}:{depth}")
                told = await told_by(socket, partial(world.drive, started.id))
                html = "".join(part["html"] for message in told for part in message["rows"])
                assert "U+202E" in html
                assert "<img" not in html
                assert "<hx-" not in html

    play(scene)


def test_a_retired_delivery_leaves_a_gap_that_is_told(api: Api, world: World, play: Play) -> None:
    invocation = world.start()
    world.start()
    retire(world, invocation)

    async def scene() -> None:
        async with opened("/ws/feed", bearer(api.bearers["viewer"])) as socket:
            await socket.send({"cursor": {"epoch": "", "position": 0}})
            told = await socket.until(await sync_to_async(head)())
            assert told[0]["gap"] is True
            assert told[0]["previous"] == 0
            for before, after in itertools.pairwise(told):
                assert after["previous"] == before["position"]

    play(scene)
