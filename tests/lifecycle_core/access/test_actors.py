"""A person's rights are those of this moment."""

import pytest
from django.contrib.auth.models import AnonymousUser, User

from lifecycle_core.access import actors
from lifecycle_core.access.models import Tenant
from lifecycle_core.application import members, permissions, tenants
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor, Permission

pytestmark = pytest.mark.django_db
ADMIN = permissions.command_line("default")
PASSWORD = "correct-horse-battery"


@pytest.fixture
def maria() -> User:
    members.add(ADMIN, username="maria", given=["operator"], password=PASSWORD)
    return User.objects.get(username="maria")


def test_a_member_has_the_rights_of_his_roles(maria: User) -> None:
    actor = actors.for_user(maria, "default")
    assert actor.name == "user:maria"
    assert actor.may(Permission.DECIDE)
    assert not actor.may(Permission.ADMINISTER)


def test_nobody_is_not_signed_in() -> None:
    with pytest.raises(errors.Unauthenticated):
        actors.for_user(AnonymousUser(), "default")


def test_a_closed_account_is_nobody_at_once(maria: User) -> None:
    User.objects.update(is_active=False)
    with pytest.raises(errors.Unauthenticated):
        actors.for_user(maria, "default")


def test_a_removed_member_may_nothing_at_once(maria: User) -> None:
    members.remove(ADMIN, username="maria")
    with pytest.raises(errors.Forbidden):
        actors.for_user(maria, "default")
    assert actors.tenants_of(maria) == []


def test_a_changed_role_counts_at_once(maria: User) -> None:
    members.add(ADMIN, username="maria", given=["viewer"])
    assert not actors.for_user(maria, "default").may(Permission.DECIDE)


def test_rights_end_at_the_tenant(maria: User) -> None:
    tenants.add("elsewhere")
    with pytest.raises(errors.Forbidden):
        actors.for_user(maria, "elsewhere")


def test_a_person_can_belong_to_several_tenants(maria: User) -> None:
    tenants.add("elsewhere")
    members.add(permissions.command_line("elsewhere"), username="maria", given=["auditor"])
    assert actors.tenants_of(maria) == ["default", "elsewhere"]
    assert actors.for_user(maria, "elsewhere").may(Permission.EXPORT)
    assert not actors.for_user(maria, "default").may(Permission.EXPORT)


@pytest.mark.parametrize("password", [None, "", "short", "password1234"])
def test_a_weak_password_makes_no_person(password: str | None) -> None:
    with pytest.raises(errors.ConfigurationInvalid):
        members.add(ADMIN, username="maria", given=["viewer"], password=password)
    assert not User.objects.exists()


def test_passwords_are_kept_with_argon2(maria: User) -> None:
    assert maria.password.startswith("argon2$argon2id$")


@pytest.mark.parametrize("slug", ["", "Acme", "a b", "-a", "a-", "a" * 65, "ä", "a\n"])
def test_a_bad_name_makes_no_tenant(slug: str) -> None:
    with pytest.raises(errors.ConfigurationInvalid):
        tenants.add(slug)
    assert Tenant.objects.count() == 1


def test_a_taken_name_makes_no_second_tenant() -> None:
    with pytest.raises(errors.ConfigurationInvalid):
        tenants.add("default")


def test_who_started_something_may_see_it_with_the_right_to_read_his_own() -> None:
    host = Actor(tenant="default", name="token:ci", permissions=frozenset({Permission.READ_OWN}))
    assert permissions.visible(host, "token:ci")
    assert not permissions.visible(host, "token:other")
    assert permissions.requester_filter(host) == "token:ci"
    assert permissions.requester_filter(ADMIN) is None
