"""The eight statuses of an invocation."""

from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """Say where an invocation stands (reference: seed-contracts 5)."""

    STARTING = "starting"
    RUNNING = "running"
    AWAITING_INPUT = "awaiting-input"
    COMPLETED = "completed"
    FAILED = "failed"
    INVALID = "invalid"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


TERMINAL: Final = frozenset({Status.COMPLETED, Status.FAILED, Status.INVALID, Status.CANCELLED})
ACTIVE: Final = frozenset({Status.STARTING, Status.RUNNING, Status.AWAITING_INPUT})
WORKING: Final = frozenset({Status.STARTING, Status.RUNNING})
