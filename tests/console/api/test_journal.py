"""Journals over REST: exported as they are, verified as they are."""

import json
from typing import Any

import pytest

from tests.console.api.conftest import Api, World

pytestmark = pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")


def lines(response: Any) -> list[Any]:
    content = b"".join(response)
    return [json.loads(line) for line in content.splitlines()]


def test_an_export_has_every_event_of_every_journal(api: Api, world: World) -> None:
    started = [world.start(), world.start()]
    response = api.get("journal/export", "auditor")
    assert response["Content-Type"] == "application/x-ndjson"
    exported = lines(response)
    for invocation in started:
        expected = api.get(f"invocations/{invocation}/events").json()["items"]
        mine = [line for line in exported if line["invocation"] == invocation]
        assert [line["hash"] for line in mine] == [event["hash"] for event in expected]


def test_one_journal_can_be_exported_alone(api: Api, world: World) -> None:
    invocation, _ = world.start(), world.start()
    exported = lines(api.get(f"journal/export?invocation={invocation}", "auditor"))
    assert {line["invocation"] for line in exported} == {invocation}


def test_an_export_that_is_not_allowed_is_refused_before_it_begins(api: Api, world: World) -> None:
    world.start()
    response = api.get("journal/export", "operator")
    assert (response.status_code, response.json()["code"]) == (403, "FORBIDDEN")


def test_an_export_of_nothing_is_empty(api: Api, world: World) -> None:
    assert lines(api.get("journal/export", "auditor")) == []


def test_untouched_journals_are_intact(api: Api, world: World) -> None:
    invocation = world.start()
    shown = api.get(f"journal/verify?invocation={invocation}", "auditor").json()
    assert (shown["intact"], shown["invocations"], shown["broken"]) == (True, 1, None)
    assert shown["events"] == len(api.get(f"invocations/{invocation}/events").json()["items"])


def test_a_journal_that_is_not_there_cannot_be_exported_or_verified(api: Api, world: World) -> None:
    for path in ("export", "verify"):
        absent = "6f1f4a5e-1111-4111-8111-111111111111"
        assert api.get(f"journal/{path}?invocation={absent}", "auditor").status_code == 404
