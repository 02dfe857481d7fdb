"""Disposable databases are there, apart, and gone."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from lifecycle_core.testing import disposable
from lifecycle_core.testing.disposable import Environ

SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'lifecycle%'"
ENVIRON = "import os; print({k: v for k, v in os.environ.items() if k.startswith('LIFECYCLE_')})"


@pytest.fixture(scope="module")
def server() -> Iterator[Environ]:
    with disposable.postgresql() as environ:
        yield environ


def schemas(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {name for (name,) in connection.execute(SCHEMAS).fetchall()}


def test_a_data_folder_is_gone_afterwards() -> None:
    with disposable.sqlite() as environ:
        folder = Path(environ["LIFECYCLE_DATA"])
        assert folder.is_dir()
    assert not folder.exists()


def test_what_is_made_lands_in_the_schema_and_goes_with_it(server: Environ) -> None:
    url = server["LIFECYCLE_DATABASE_URL"]
    before = schemas(url)
    with disposable.schema(url) as environ:
        (own,) = schemas(url) - before
        with psycopg.connect(environ["LIFECYCLE_DATABASE_URL"]) as connection:
            connection.execute("CREATE TABLE made (n int)")
            place = connection.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'made'").fetchone()
        assert place == (own,)
    assert schemas(url) == before


def test_a_schema_goes_also_after_a_failure(server: Environ) -> None:
    url = server["LIFECYCLE_DATABASE_URL"]
    before = schemas(url)
    with pytest.raises(RuntimeError, match="half-way"), disposable.schema(url):
        raise RuntimeError("half-way")
    assert schemas(url) == before


def test_a_database_that_cannot_be_reached_is_named_without_its_password() -> None:
    url = "postgresql://somebody:hidden@127.0.0.1:1/nothing"
    with pytest.raises(disposable.Unreachable) as refusal, disposable.schema(url):
        pass
    assert "127.0.0.1" in str(refusal.value)
    assert "hidden" not in str(refusal.value)


def test_a_command_sees_no_other_settings_than_the_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFECYCLE_URL", "https://console.example")
    found = list(disposable.lines(["-c", ENVIRON], {"LIFECYCLE_DATA": "here"}))
    assert found == ["{'LIFECYCLE_DATA': 'here'}\n"]


def test_a_command_that_fails_is_told_after_its_lines() -> None:
    lines = disposable.lines(["-c", "print('begun', flush=True); raise SystemExit(3)"], {})
    assert next(lines) == "begun\n"
    with pytest.raises(disposable.CommandFailed, match="ended with 3"):
        next(lines)
