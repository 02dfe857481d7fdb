"""The figures that Prometheus reads. What the journal knows is counted when asked for, so that it survives a restart."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lifecycle_core.application import figures

REGISTRY: Final = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

REQUESTS: Final = Counter(
    "lifecycle_http_requests",
    "Requests by route and status.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
SECONDS: Final = Histogram(
    "lifecycle_http_seconds", "How long requests took.", ["method", "route"], registry=REGISTRY
)
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class JournalFigures(Collector):
    """Count what the journals hold, by tenant."""

    def collect(self) -> Iterator[Metric]:
        """Ask the application."""
        for figure in figures.figures():
            family = GaugeMetricFamily(f"lifecycle_{figure.name}", figure.help, labels=figure.labels)
            for labels, value in figure.values:
                family.add_metric(labels, value)
            yield family

    def describe(self) -> Iterator[Metric]:
        """Name nothing beforehand, so that starting needs no database."""
        return iter(())


REGISTRY.register(JournalFigures())


def count(method: str | None, route: str, status: int, seconds: float) -> None:
    """Count one request. Labels come from closed sets, so that strangers cannot fill the memory with names."""
    method = method if method in METHODS else "other"
    REQUESTS.labels(method, route, str(status)).inc()
    SECONDS.labels(method, route).observe(seconds)
