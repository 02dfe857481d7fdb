"""What a bench gives: figures, each with its unit and the conditions under which it was taken."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lifecycle_core.contract.digests import Json

MS: Final = "ms"
NS_PER_MS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """How much to measure: tool calls in one run, runs of each kind, seconds and callers of each load."""

    calls: tuple[int, ...] = (20, 100)
    rounds: int = 10
    seconds: float = 3.0
    callers: tuple[int, ...] = (1, 8)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number; `conditions` tell it apart from the others of its name."""

    name: str
    value: float
    unit: str
    conditions: Mapping[str, Json] = field(default_factory=dict)

    def as_json(self, database: str) -> dict[str, Json]:
        """Return the figure as one flat object."""
        value = round(self.value, 4)
        return {"name": self.name, "value": value, "unit": self.unit, "database": database, **self.conditions}


def latencies(name: str, samples_ns: Sequence[int], *quantiles: str, **conditions: Any) -> list[Figure]:
    """Return quantiles (min, median, p99, max) of measured times as figures in milliseconds."""
    return [
        Figure(
            name=name,
            value=quantile(samples_ns, one) / NS_PER_MS,
            unit=MS,
            conditions={**conditions, "quantile": one, "samples": len(samples_ns)},
        )
        for one in quantiles
    ]


def quantile(samples: Sequence[int], which: str) -> float:
    """Return the min, the median, the p99 (nearest rank) or the max of samples."""
    match which:
        case "min":
            return min(samples)
        case "median":
            return statistics.median(samples)
        case "p99":
            return sorted(samples)[math.ceil(0.99 * len(samples)) - 1]
        case _:
            return max(samples)
