"""The reset empties tables whose triggers refuse it, and puts the triggers back."""

from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection

from tests.harness import reset

WALLS = {
    "sqlite": [
        "CREATE TRIGGER walled_wall BEFORE DELETE ON walled BEGIN SELECT RAISE(ABORT, 'never'); END",
    ],
    "postgresql": [
        "CREATE FUNCTION walled_wall() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'never'; END $$ LANGUAGE plpgsql",
        "CREATE TRIGGER walled_wall BEFORE DELETE ON walled FOR EACH ROW EXECUTE FUNCTION walled_wall()",
    ],
}


def run(*statements: str) -> None:
    """Execute and commit."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def baseline(transactional_db: None) -> Iterator[reset.Baseline]:
    """Make a table with one row and a wall, and remember it."""
    run(
        "CREATE TABLE walled (name varchar(20))",
        *WALLS[connection.vendor],
        "INSERT INTO walled VALUES ('first')",
    )
    yield reset.Baseline.of(connection)
    run("DROP TABLE walled")
    if connection.vendor == "postgresql":
        run("DROP FUNCTION walled_wall")


def test_what_a_test_commits_is_gone_after_the_reset(baseline: reset.Baseline) -> None:
    run("INSERT INTO walled VALUES ('second')", "UPDATE walled SET name = 'edited' WHERE name = 'first'")
    baseline.restore(connection)
    assert reset.read(connection, "walled") == [("first",)]


def test_the_wall_stands_before_and_after_the_reset(baseline: reset.Baseline) -> None:
    run("INSERT INTO walled VALUES ('second')")
    with pytest.raises(DatabaseError, match="never"):
        run("DELETE FROM walled")
    baseline.restore(connection)
    with pytest.raises(DatabaseError, match="never"):
        run("DELETE FROM walled")
