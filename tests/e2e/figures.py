"""What was measured on the way: printed, not asserted, because it says as much about the machine as about us."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Figures:
    """Lines to print when the tests have ended."""

    _lines: list[str] = field(default_factory=list)

    def note(self, name: str, value: float, unit: str) -> None:
        """Keep one figure."""
        self._lines.append(f"{name}: {value:,.1f} {unit}")

    def spread(self, name: str, values: Sequence[float], unit: str) -> None:
        """Keep several values of one figure with their median."""
        every = ", ".join(f"{value:.0f}" for value in values)
        self._lines.append(
            f"{name}: median {statistics.median(values):.1f} {unit} over {len(values)} ({every})"
        )

    def lines(self) -> list[str]:
        """Return what was kept, in order."""
        return self._lines
