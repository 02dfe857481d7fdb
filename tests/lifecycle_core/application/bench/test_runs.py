"""The benches run on either database, and refuse one that holds something."""

from typing import Any

import pytest
from django.db import connection

from lifecycle_core.application.bench import runs
from lifecycle_core.application.bench.figures import Options
from lifecycle_core.application.bench.stage import Stage
from lifecycle_core.contract import errors

TINY = Options(calls=(1, 2), rounds=1, seconds=0.01, callers=(1, 2))


def told(name: str) -> list[dict[str, Any]]:
    """Run one bench and check what all figures have in common."""
    found = list(runs.here([name], TINY))
    assert {figure["database"] for figure in found} == {connection.vendor}
    assert all(isinstance(figure["value"], float) for figure in found)
    return found


def kinds(found: list[dict[str, Any]], *conditions: str) -> set[tuple[Any, ...]]:
    """Return what tells figures apart."""
    return {(figure["name"], *(figure.get(name) for name in conditions)) for figure in found}


@pytest.mark.django_db(transaction=True)
def test_a_tool_call_is_measured_gated_and_ungated_and_the_wire_apart() -> None:
    found = told("toolcall")
    quantiles = {
        (f"toolcall.{kind}", calls, quantile)
        for kind in ("ungated", "gated")
        for calls in TINY.calls
        for quantile in ("median", "p99")
    }
    assert quantiles <= kinds(found, "calls", "quantile")
    wire = {("toolcall.wire", calls, "median") for calls in TINY.calls}
    assert wire <= kinds(found, "calls", "quantile")
    assert {("toolcall.ungated.ratio", "x"), ("toolcall.gated.ratio", "x")} <= kinds(found, "unit")


@pytest.mark.django_db(transaction=True)
def test_every_call_of_a_run_is_a_sample() -> None:
    samples = {
        (figure["name"], figure["calls"]): figure["samples"]
        for figure in told("toolcall")
        if figure["name"] in ("toolcall.ungated", "toolcall.gated")
    }
    assert all(count == calls for (_, calls), count in samples.items())
    assert len(samples) == 4


@pytest.mark.django_db(transaction=True)
def test_transitions_are_measured_alone_and_beside_others() -> None:
    found = told("transitions")
    assert {("transitions.rate", 1, "1/s"), ("transitions.rate", 2, "1/s")} <= kinds(found, "callers", "unit")
    latencies = {
        ("transitions.latency", callers, quantile)
        for callers in (1, 2)
        for quantile in ("median", "p99", "max")
    }
    assert latencies <= kinds(found, "callers", "quantile")


@pytest.mark.django_db
def test_the_disk_is_measured_beside_the_database() -> None:
    assert kinds(told("disk"), "quantile") == {("disk.sync", "median"), ("disk.sync", "p99")}


@pytest.mark.django_db(transaction=True)
def test_a_database_that_holds_something_is_refused() -> None:
    Stage("http://127.0.0.1:1/v1", "secret", 1).start(1)
    with pytest.raises(errors.ConfigurationInvalid, match="empty"):
        next(runs.here(["toolcall"], TINY))


def test_an_unknown_bench_is_refused_by_its_name() -> None:
    with pytest.raises(errors.ConfigurationInvalid) as refusal:
        runs.check(["toolcall", "speed"])
    assert "no bench speed" in refusal.value.sentence
    assert "toolcall, transitions, chain, disk" in refusal.value.sentence
