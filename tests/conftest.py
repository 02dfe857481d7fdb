"""Fixtures for every test: databases that survive real commits, and a child process's view of them."""

import os
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.db import connections
from django.test import TransactionTestCase
from hypothesis import settings

from tests.harness import reset

# How long an example takes says more about the machine than about us. The same examples every time, so that a change is
# judged by what it changed; `make soak` looks further.
settings.register_profile("lifecycle", deadline=None, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("lifecycle")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """Put SQLite's test database into the file that settings name: in memory, WAL is never tested."""
    for connection in connections.all():
        if connection.vendor == "sqlite":
            connection.settings_dict["TEST"]["NAME"] = str(connection.settings_dict["NAME"])
        else:
            request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: pytest.FixtureDef[None]) -> Iterator[None]:
    """Remember what the migrations left, and reset to it after every test that commits."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        baselines = {connection.alias: reset.Baseline.of(connection) for connection in connections.all()}

    def restore(case: TransactionTestCase) -> None:
        for alias, baseline in baselines.items():
            baseline.restore(connections[alias])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", restore)
        yield


@pytest.fixture
def child_environment(transactional_db: None) -> dict[str, str]:
    """Give the environment in which another process sees the test database."""
    connection = connections["default"]
    if connection.vendor == "sqlite":
        return dict(os.environ)
    given = connection.get_connection_params()
    place = f"{quote(given['user'])}:@/{quote(given['dbname'])}?host={quote(given['host'], safe='')}"
    return {**os.environ, "LIFECYCLE_DATABASE_URL": f"postgresql://{place}"}
