"""Fixtures of the journal's tests."""

import pytest

from lifecycle_core.journal.store import Store


@pytest.fixture
def hints() -> list[tuple[str, int]]:
    """Collect what the store tells after its commits."""
    return []


@pytest.fixture
def store(hints: list[tuple[str, int]]) -> Store:
    return Store(hint=lambda tenant, position: hints.append((tenant, position)))
