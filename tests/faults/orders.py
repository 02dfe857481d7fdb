"""What a child is told to do."""

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a child is to do, and where; without a `scenario` it prepares the database.

    `stop_at` is the point at which it kills itself, `life` counts the children of one trial, `variant` names a defence that
    is taken away, `away_ms` is how long nobody served before.
    """

    folder: str
    model: str
    secret: str
    endpoint: str
    scenario: str = ""
    stop_at: int | None = None
    life: int = 0
    variant: str = ""
    away_ms: int = 0

    def line(self) -> str:
        """Write it as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, line: str) -> Self:
        """Read it."""
        return cls(**json.loads(line))

    @property
    def origin(self) -> str:
        return self.endpoint.rpartition("/")[0]
