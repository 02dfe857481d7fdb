"""Fixtures of the journal's tests."""

import os

import pytest

from lifecycle_core.journal.store import Store

# What these are about exists on SQLite alone.
collect_ignore = ["test_backup.py", "test_sqlite.py"] if "LIFECYCLE_DATABASE_URL" in os.environ else []


@pytest.fixture
def hints() -> list[tuple[str, int]]:
    """Collect what the store tells after its commits."""
    return []


@pytest.fixture
def store(hints: list[tuple[str, int]]) -> Store:
    return Store(hint=lambda tenant, position: hints.append((tenant, position)))
