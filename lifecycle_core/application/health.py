"""Tell whether this process can do its work."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import DatabaseError

from lifecycle_core.application import work


def ready() -> list[str]:
    """Return what keeps this process from working, in words; nothing when it is ready."""
    return [*_database(), *work.problems()]


def _database() -> list[str]:
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as cause:
        return [f"the database does not answer: {type(cause).__name__}"]
    return [f"{len(pending)} migrations are not applied"] if pending else []
