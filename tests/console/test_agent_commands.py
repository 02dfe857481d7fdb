"""`manage.py agents`: register, list, and withdraw a version of an agent."""

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from lifecycle_core.application import permissions, queries, tenants
from tests.console.api.conftest import AGENT

pytestmark = pytest.mark.django_db

ADMIN = permissions.command_line("default")
TEXT = AGENT.format(base_url="http://127.0.0.1:9/v1")


def run(*arguments: str) -> list[list[str]]:
    out = io.StringIO()
    call_command("agents", *arguments, stdout=out)
    return [line.split("\t") for line in out.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def apply(monkeypatch: pytest.MonkeyPatch) -> Any:
    def send(text: str = TEXT, *options: str) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return run("apply", "-", *options)[0][1]

    send()
    return send


def test_the_current_version_is_withdrawn_and_comes_back_when_it_is_applied_again(apply: Any) -> None:
    [answer] = run("withdraw", "writer", "--reason", "It leaks.")
    assert answer[1] == "withdrawn"
    assert answer[-1] == "It leaks."
    assert any(word.endswith("by system:command-line") for word in answer)
    assert run("list")[0][-1] == "withdrawn"
    assert run("versions", "writer") == [answer]
    apply()
    assert run("list")[0][-1] == queries.agent(ADMIN, "writer").binding
    assert run("versions", "writer")[0][1] == "current"


def test_a_replaced_version_is_withdrawn_by_its_binding(apply: Any) -> None:
    old = queries.agent(ADMIN, "writer").binding
    new = apply(TEXT.replace("You write.", "You write well."))
    run("withdraw", "writer", "--binding", old)
    assert [words[:2] for words in run("versions", "writer")] == [[new, "current"], [old, "withdrawn"]]
    assert queries.agent(ADMIN, "writer").startable


def test_one_tenant_s_agent_is_withdrawn_and_not_another_s(apply: Any) -> None:
    tenants.add("acme")
    apply(TEXT, "--tenant", "acme")
    run("withdraw", "writer", "--tenant", "acme")
    assert queries.agent(permissions.command_line("acme"), "writer").withdrawn
    assert not queries.agent(ADMIN, "writer").withdrawn


@pytest.mark.parametrize("arguments", [("nobody",), ("writer", "--binding", "sha256:0")])
def test_what_is_not_there_is_said(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="NOT_FOUND"):
        run("withdraw", *arguments)
