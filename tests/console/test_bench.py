"""`manage.py bench` prints its figures for both databases, and says what it does not know."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.management.commands.bench import table

TINY = ("--calls", "1,2", "--rounds", "1", "--seconds", "0.01", "--callers", "1")


def bench(*arguments: str) -> str:
    out = io.StringIO()
    call_command("bench", *arguments, *TINY, stdout=out)
    return out.getvalue()


@pytest.mark.soak
def test_every_figure_is_one_json_object_on_a_line_for_both_databases() -> None:
    figures: list[dict[str, Any]] = [json.loads(line) for line in bench("--json").splitlines()]
    assert all({"name", "value", "unit", "database"} <= figure.keys() for figure in figures)
    names = {
        database: sorted({figure["name"] for figure in figures if figure["database"] == database})
        for database in ("sqlite", "postgresql")
    }
    assert names["sqlite"] == names["postgresql"]
    assert {"toolcall.gated", "toolcall.ungated", "toolcall.wire", "transitions.rate"} <= set(names["sqlite"])


def test_without_json_figures_stand_in_columns() -> None:
    wait = {
        "name": "wait",
        "value": 12.34567,
        "unit": "ms",
        "database": "sqlite",
        "callers": 8,
        "quantile": "p99",
    }
    rate = {"name": "a.longer.name", "value": 1234.5, "unit": "1/s", "database": "postgresql", "callers": 8}
    assert table([wait, rate]) == [
        "figure            value  unit  database    conditions",
        "wait             12.346  ms    sqlite      callers 8, quantile p99",
        "a.longer.name  1234.500  1/s   postgresql  callers 8",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("speed",), "no bench speed. Benches: toolcall, transitions, chain, disk"),
        (("toolcall", "--database", "mysql://localhost/x"), "postgresql://"),
        (("toolcall", "--database", "postgresql://127.0.0.1:1/nothing"), "127.0.0.1"),
    ],
)
def test_what_cannot_be_measured_ends_with_a_sentence(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said) as refusal:
        bench(*arguments)
    assert "Traceback" not in str(refusal.value)
