"""Tokens: made from enough chance, kept as hashes, ended at once."""

import datetime

import pytest
from django.utils import timezone

from lifecycle_core.access import actors, tokens
from lifecycle_core.access.models import Token
from lifecycle_core.application import permissions
from lifecycle_core.application import tokens as use_cases
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Permission

pytestmark = pytest.mark.django_db
ADMIN = permissions.command_line("default")


def create(roles: tuple[str, ...] = ("viewer",), **given: int | None) -> tuple[str, Token]:
    text, item = use_cases.create(ADMIN, name="ci", roles=roles, **given)
    return text, Token.objects.get(pk=item.id)


def test_a_token_has_the_promised_form() -> None:
    text, _ = create()
    body = text[len(tokens.PREFIX) : -tokens.CHECKSUM_LENGTH]
    assert text.startswith("lcc_")
    assert len(body) == tokens.BODY_LENGTH
    assert text.isalnum() is False
    assert text.removeprefix("lcc_").isalnum()
    assert text.endswith(tokens.checksum(body))


def test_two_tokens_are_never_equal() -> None:
    assert len({tokens.generate() for _ in range(200)}) == 200


def test_the_text_of_a_token_is_nowhere_in_its_row() -> None:
    text, row = create()
    stored = " ".join(str(value) for value in row.__dict__.values())
    assert text not in stored
    assert text[4:20] not in stored


def test_a_token_stands_for_its_name_its_tenant_and_its_roles() -> None:
    text, _ = create(("operator",))
    actor = actors.for_token(text)
    assert (actor.tenant, actor.name) == ("default", "token:ci")
    assert actor.may(Permission.DECIDE)
    assert not actor.may(Permission.START)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text[:-1],
        lambda text: text + "0",
        lambda text: text.upper(),
        lambda text: "xcc_" + text[4:],
        lambda text: f" {text}",
    ],
)
def test_anything_but_the_exact_text_is_refused(change: object) -> None:
    text, _ = create()
    assert callable(change)
    with pytest.raises(errors.Unauthenticated):
        actors.for_token(change(text))


def test_a_revoked_token_is_refused_in_the_next_request() -> None:
    text, row = create()
    actors.for_token(text)
    use_cases.revoke(ADMIN, row.pk)
    with pytest.raises(errors.Unauthenticated):
        actors.for_token(text)


def test_revoking_twice_keeps_the_first_time() -> None:
    _, row = create()
    first = use_cases.revoke(ADMIN, row.pk)
    assert use_cases.revoke(ADMIN, row.pk).revoked_at == first.revoked_at


def test_a_token_ends_when_it_expires() -> None:
    text, row = create(days=1)
    actors.for_token(text)
    Token.objects.filter(pk=row.pk).update(expires_at=timezone.now() - datetime.timedelta(milliseconds=1))
    with pytest.raises(errors.Unauthenticated):
        actors.for_token(text)


def test_tokens_of_one_name_overlap_for_rotation() -> None:
    old, row = create()
    new, _ = create()
    assert actors.for_token(old) == actors.for_token(new)
    use_cases.revoke(ADMIN, row.pk)
    assert actors.for_token(new).name == "token:ci"


def test_the_last_use_is_remembered_roughly() -> None:
    text, row = create()
    actors.for_token(text)
    first = Token.objects.get(pk=row.pk).last_used_at
    assert first is not None
    actors.for_token(text)
    assert Token.objects.get(pk=row.pk).last_used_at == first


def test_another_pepper_makes_every_token_worthless(settings: object, tmp_path: object) -> None:
    text, _ = create()
    settings.LIFECYCLE_KEYS = tmp_path  # type: ignore[attr-defined]
    with pytest.raises(errors.Unauthenticated):
        actors.for_token(text)


@pytest.mark.parametrize(
    ("name", "roles", "days"),
    [
        ("", ["viewer"], None),
        ("a\nb", ["viewer"], None),
        ("a", [], None),
        ("a", ["emperor"], None),
        ("a", ["viewer"], 0),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(name: str, roles: list[str], days: int | None) -> None:
    with pytest.raises(errors.ConfigurationInvalid):
        use_cases.create(ADMIN, name=name, roles=roles, days=days)
    assert not Token.objects.exists()


def test_only_an_administrator_manages_tokens() -> None:
    text, row = create(("operator", "auditor", "host", "coordinator"))
    actor = actors.for_token(text)
    for use in (
        lambda: use_cases.create(actor, name="x", roles=["owner"]),
        lambda: use_cases.revoke(actor, row.pk),
        lambda: use_cases.listed(actor),
    ):
        with pytest.raises(errors.Forbidden):
            use()


def test_a_token_of_another_tenant_is_not_there() -> None:
    _, row = create()
    with pytest.raises(errors.NotFound):
        use_cases.revoke(permissions.command_line("elsewhere"), row.pk)
    assert Token.objects.get(pk=row.pk).revoked_at is None
