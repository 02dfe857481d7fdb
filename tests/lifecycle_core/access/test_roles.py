"""Roles are sets of permissions, as the design's table says."""

import pytest

from lifecycle_core.access import roles
from lifecycle_core.contract.actor import Permission

TABLE = {
    "viewer": {"read"},
    "operator": {"read", "decide", "answer", "cancel-invocation"},
    "coordinator": {"read", "cancel-delivery", "retire", "resolve"},
    "host": {"start", "read-own"},
    "auditor": {"read", "read-sensitive", "export", "verify"},
    "admin": {"read", "administer"},
}


@pytest.mark.parametrize("role", TABLE)
def test_a_role_allows_exactly_what_the_table_says(role: str) -> None:
    assert {str(permission) for permission in roles.PERMISSIONS[role]} == TABLE[role]


def test_the_owner_may_do_everything() -> None:
    assert roles.PERMISSIONS["owner"] == frozenset(Permission)


def test_there_are_no_other_roles() -> None:
    assert set(roles.PERMISSIONS) == {*TABLE, "owner"}


def test_several_roles_allow_what_each_of_them_allows() -> None:
    both = roles.permissions(["viewer", "host"])
    assert both == roles.PERMISSIONS["viewer"] | roles.PERMISSIONS["host"]


def test_a_role_that_is_not_known_allows_nothing() -> None:
    assert roles.permissions(["emperor"]) == frozenset()


def test_who_runs_agents_cannot_decide() -> None:
    assert not roles.PERMISSIONS["host"] & {Permission.DECIDE, Permission.ANSWER}
