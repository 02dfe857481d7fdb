"""Figures say what was measured, in which unit and under which conditions."""

import pytest

from lifecycle_core.application.bench import figures
from lifecycle_core.application.bench.figures import Figure


@pytest.mark.parametrize(("which", "expected"), [("min", 1), ("median", 50.5), ("p99", 99), ("max", 100)])
def test_a_quantile_is_one_of_the_samples_or_lies_between_two(which: str, expected: float) -> None:
    assert figures.quantile(list(range(100, 0, -1)), which) == expected


@pytest.mark.parametrize("which", ["min", "median", "p99", "max"])
def test_of_one_sample_every_quantile_is_that_sample(which: str) -> None:
    assert figures.quantile([7], which) == 7


def test_latencies_are_told_in_milliseconds_with_their_conditions() -> None:
    (found,) = figures.latencies("wait", [2_000_000, 4_000_000], "max", callers=3)
    expected = {"name": "wait", "value": 4.0, "unit": "ms", "database": "sqlite"}
    assert found.as_json("sqlite") == {**expected, "callers": 3, "quantile": "max", "samples": 2}


def test_conditions_stand_beside_the_value() -> None:
    figure = Figure(name="ratio", value=1.23456, unit="x", conditions={"calls": [20, 100]})
    assert figure.as_json("postgresql")["value"] == 1.2346
    assert figure.as_json("postgresql")["calls"] == [20, 100]
