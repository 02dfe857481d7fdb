"""The commands keep the interfaces that DESIGN 14 promises."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from lifecycle_core.access.models import Tenant, Token
from lifecycle_core.application import credentials, members, permissions, tenants, tokens

pytestmark = pytest.mark.django_db
type Say = Callable[[str], None]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch) -> Say:
    """Pipe text into the command."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def run(*arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_a_token_is_printed_alone_on_the_last_line() -> None:
    lines = run("token", "create", "--tenant", "default", "--role", "host", "--name", "ci").splitlines()
    assert tokens.actor_of(lines[-1]).name == "token:ci"


def test_the_first_owner_is_made_once_and_the_password_said() -> None:
    actor = permissions.command_line("default")
    password = members.first_owner(actor, username="ann")
    assert password is not None
    assert User.objects.get(username="ann").check_password(password)
    assert [member.roles for member in members.listed(actor)] == [("owner",)]
    assert members.first_owner(actor, username="bob") is None


def test_no_account_that_is_there_becomes_an_owner_and_none_that_was_removed() -> None:
    acme = permissions.command_line("acme")
    tenants.add("acme")
    members.add(acme, username="owner", given=["viewer"], password="correct-horse-battery")
    default = permissions.command_line("default")
    assert members.first_owner(default, username="owner") is None
    assert members.listed(default) == []


def test_a_token_expires_after_the_given_days() -> None:
    run("token", "create", "--role", "host", "--name", "ci", "--expires", "3")
    row = Token.objects.get()
    assert row.expires_at is not None
    assert (row.expires_at - row.created_at).days in (2, 3)


def test_a_token_can_be_listed_and_revoked_by_its_identity() -> None:
    text = run("token", "create", "--role", "host", "--name", "ci").splitlines()[-1]
    listed = run("token", "list")
    assert text not in listed
    run("token", "revoke", listed.split()[0])
    assert Token.objects.get().revoked_at is not None


@pytest.mark.parametrize(
    "arguments",
    [
        ("token", "create", "--role", "emperor", "--name", "ci"),
        ("token", "create", "--role", "host", "--name", "ci", "--tenant", "nowhere"),
        ("token", "create", "--role", "host", "--name", "ci", "--expires", "0"),
        ("token", "create", "--name", "ci"),
        ("token", "revoke", "not-an-identity"),
        ("tenant", "add", "Not A Name"),
        ("credential", "set", "refs/model"),
        ("credential", "remove", "refs/model"),
        ("member", "remove", "nobody"),
    ],
)
def test_what_cannot_be_done_ends_with_a_sentence(arguments: tuple[str, ...], say: Say) -> None:
    say("secret\n")
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    assert "Traceback" not in str(refusal.value)
    assert refusal.value.returncode == 1
    assert not Token.objects.exists()


def test_a_tenant_can_be_added_and_listed() -> None:
    run("tenant", "add", "acme", "--name", "Acme Ltd")
    assert Tenant.objects.get(slug="acme").name == "Acme Ltd"
    assert run("tenant", "list").split() == ["acme", "default"]


def test_a_new_member_gets_the_password_that_is_piped_in(say: Say) -> None:
    say("correct-horse-battery\n")
    run("member", "add", "maria", "--role", "operator", "--role", "auditor")
    assert User.objects.get().check_password("correct-horse-battery")
    assert "maria: operator, auditor" in run("member", "list")


def test_a_known_person_keeps_the_password(say: Say) -> None:
    say("correct-horse-battery\n")
    run("member", "add", "maria", "--role", "operator")
    say("")
    run("member", "add", "maria", "--role", "viewer")
    assert User.objects.get().check_password("correct-horse-battery")
    assert "maria: viewer" in run("member", "list")


def test_a_credential_is_read_from_standard_input(say: Say) -> None:
    say("sk-secret\n")
    shown = run(
        "credential",
        "set",
        "refs/model",
        "--origin",
        "https://a.example/v1",
        "--origin",
        "http://127.0.0.1:9",
    )
    assert "sk-secret" not in shown + run("credential", "list")
    assert credentials.lease("default", "refs/model", "http://127.0.0.1:9/v1").material == {
        "secret": "sk-secret"
    }


@pytest.mark.parametrize(
    "text", ["[]", "1", "null", "[" * 100_000, '{"invocation": 1}', '{"seq": 1}', "\xff"]
)
def test_a_file_that_is_no_export_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "export.jsonl"
    file.write_bytes(text.encode("latin1"))
    with pytest.raises(CommandError, match="is no export of a journal"):
        call_command("journal", "verify", export=str(file))
