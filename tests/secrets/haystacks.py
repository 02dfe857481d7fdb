"""Everything that a console leaves, sends or shows, as bytes with names."""

import asyncio
import json
import re
import tarfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import URLPattern

from console import broadcast
from console.api.urls import api as rest
from console.views import urls as pages
from lifecycle_core.application import backups, feed, journals, members, permissions
from tests.console.consumers.conftest import bearer, opened
from tests.harness import reset
from tests.secrets.stage import TENANTS, Run, Stage

type Haystack = tuple[str, bytes]
# Pages that show something of what is retired, or while people are asked, and those that speak of no invocation.
GONE: Final = {"delivery", "tombstone", "tombstone-verify", "tombstones"}
ASKING: Final = {"inbox-group", "approval", "approval-edit", "input", "invocation"}
ELSEWHERE: Final = {"theme", "language", "tenant", "keys"}


def database() -> Iterator[Haystack]:
    """Read the files of the embedded database byte by byte, and every value of every table of any."""
    if connection.vendor == "sqlite":
        path = Path(str(connection.settings_dict["NAME"]))
        for file in sorted(path.parent.glob(f"{path.name}*")):
            yield f"database {file.name}", file.read_bytes()
    for table in reset.tables(connection):
        for row in reset.read(connection, table):
            yield f"table {table}", b"\n".join(as_bytes(value) for value in row)


def as_bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def folder() -> Iterator[Haystack]:
    """Read whatever lies in the data folder, but the keys."""
    for path in sorted(settings.LIFECYCLE_DATA.rglob("*")):
        if path.is_file() and settings.LIFECYCLE_KEYS not in path.parents:
            yield f"folder {path.name}", path.read_bytes()


def exports() -> Iterator[Haystack]:
    for tenant in TENANTS:
        lines = journals.export(permissions.command_line(tenant))
        yield f"export of {tenant}", "".join(lines).encode()


def backup(file: Path) -> Iterator[Haystack]:
    """Make a backup and read all of it but the keys."""
    if connection.vendor != "sqlite":
        return
    backups.write(file)
    with tarfile.open(file) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and not member.name.startswith("keys/"):
                yield f"backup {member.name}", content.read()


# ----------------------------------------------------------------------------------------------------------------- REST


def answers(stage: Stage, runs: Iterable[Run]) -> Iterator[Haystack]:
    """Read every address of the API that can be read: the lists of every tenant, and what belongs to a run."""
    ways = rest.get_openapi_schema()["paths"].items()
    paths = [path.removeprefix("/api/v1/") for path, operations in ways if "get" in operations]
    lists = [path for path in paths if "{" not in path]
    for tenant in TENANTS:
        for path in lists:
            yield f"REST {path}", content(stage.api.get(path, stage.bearer(tenant)))
    for run in runs:
        for path in (path for path in paths if "{" in path):
            for address in addresses(stage, path, run):
                answer = stage.api.get(address, stage.bearer(run.tenant))
                assert answer.status_code in (200, 404), address
                yield f"REST {path}", content(answer)


def addresses(stage: Stage, path: str, run: Run) -> list[str]:
    """Fill an address of the API in for a run; of what a run does not name, take the first that the list has."""
    values: dict[str, Iterable[str]] = {
        "invocation": [run.invocation],
        "approval": run.approvals,
        "input": run.inputs,
        "delivery": [run.delivery],
        "tombstone": run.tombstones,
        "name": [run.agent if path.startswith("agents") else "files_patch"],
        "key": ["chat-completions"],
    }
    before, name, after = re.fullmatch(r"(.*?)/\{(\w+)\}(.*)", path, re.DOTALL).groups()  # type: ignore[union-attr]
    if name in values:
        return [f"{before}/{value}{after}" for value in values[name]]
    return [f"{before}/{value}{after}" for value in first(stage, before, run)]


def first(stage: Stage, resource: str, run: Run) -> list[str]:
    """Return the first identity in a list of the API, for what a run does not name itself."""
    answer = stage.api.get(resource, stage.bearer(run.tenant))
    assert answer.status_code == 200, (
        f"say what of {resource} belongs to a run, so that secrets are looked for there, too"
    )
    return [item["id"] for item in answer.json()["items"][:1]]


# ---------------------------------------------------------------------------------------------------------------- pages


def screens(stage: Stage, runs: Iterable[Run], only: Collection[str] = ()) -> Iterator[Haystack]:
    """Read every page for every run, or only some, as the owner of its tenant."""
    browsers = {tenant: browser(tenant) for tenant in TENANTS}
    patterns = [
        pattern
        for pattern in pages.urlpatterns
        if pattern.name not in ELSEWHERE and (not only or pattern.name in only)
    ]
    for run in runs:
        for pattern in patterns:
            for address in page_addresses(stage, pattern, run):
                yield f"page {pattern.name}", read(browsers[run.tenant], address)


def browser(tenant: str) -> Client:
    user, is_new = User.objects.get_or_create(username=f"owner@{tenant}")
    if is_new:
        members.add(permissions.command_line(tenant), username=user.username, given=["owner"])
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def read(client: Client, address: str) -> bytes:
    return content(client.get(address))


def content(answer: Any) -> bytes:
    """Return the whole of an answer, however it comes."""
    if not answer.streaming:
        return bytes(answer.content)
    if not answer.is_async:
        return b"".join(answer.streaming_content)

    async def gathered() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    return asyncio.run(gathered())


def page_addresses(stage: Stage, pattern: URLPattern, run: Run) -> list[str]:
    """Fill the address of a page in for a run."""
    values: dict[str, Iterable[str]] = {
        "<uuid:invocation_id>": [run.invocation],
        "<uuid:approval_id>": run.approvals,
        "<uuid:input_id>": run.inputs,
        "<uuid:delivery_id>": [run.delivery],
        "<uuid:tombstone_id>": run.tombstones,
        "<str:group>": ["mine", "done"],
        "<str:agent>": [run.agent],
        "<str:name>": [run.agent],
        "<str:action>": ["write"],
        "<str:part>": ["figures", "waiting", "ending"],
        "<int:seq>": [str(seq) for seq in range(1, 30, 3)] if run.canary.number == 1 else [],
    }
    resource, found = str(pattern.pattern).partition("/")[0], [f"/{pattern.pattern}"]
    for name in [part for part in str(pattern.pattern).split("/") if part.startswith("<")]:
        if name == "<str:binding>":
            known: Iterable[str] = [
                stage.api.get(f"agents/{run.agent}", stage.bearer(run.tenant)).json()["binding"]
            ]
        else:
            known = values[name] if name in values else first(stage, resource, run)
        found = [address.replace(name, value) for address in found for value in known]
    return found


# -------------------------------------------------------------------------------------------------------------- sockets


def frames(stage: Stage, runs: list[Run]) -> Iterator[Haystack]:
    """Follow the feed of every tenant from its beginning, and the pages of its runs."""
    for tenant in TENANTS:
        epoch, last = feed.head(permissions.command_line(tenant))
        token = stage.api.bearers[stage.bearer(tenant)]
        beginning = {"cursor": {"epoch": epoch, "position": 0}}
        yield f"feed of {tenant}", asyncio.run(follow("/ws/feed", token, beginning, last))
        for run in (run for run in runs if run.tenant == tenant):
            view = {**beginning, "view": f"invocation:{run.invocation}:transcript"}
            yield f"pages of {tenant}", asyncio.run(follow("/ws/pages", token, view, last))
    broadcast.stop()


async def follow(path: str, token: str, cursor: dict[str, Any], last: int) -> bytes:
    async with opened(path, bearer(token)) as socket:
        await socket.send(cursor)
        return json.dumps(await socket.until(last), ensure_ascii=False).encode()
