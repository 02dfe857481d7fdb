"""Whoever starts cannot steer and whoever steers cannot start: two facets, each with exactly its own."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle_core.application import hosting, steering
from lifecycle_core.engine import control, host


def public(kind: type[Any]) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("facet", "kind", "may"),
    [
        (host.HostFacet, host.Host, {"check", "admit", "continue_with_input"}),
        (control.ControlFacet, control.Control, {"cancel", "inspect", "resolve", "retire"}),
    ],
)
def test_a_facet_offers_exactly_what_its_caller_may(facet: type[Any], kind: type[Any], may: set[str]) -> None:
    assert public(facet) == may
    assert public(kind) == may


def test_each_facet_is_met_by_its_own_class_alone() -> None:
    """mypy reads these lines: were a class to gain what it must not have, the ignores would be unused and fail the check."""

    def steers(facet: control.ControlFacet) -> control.ControlFacet:
        return facet

    def starts(facet: host.HostFacet) -> host.HostFacet:
        return facet

    given: Any = None
    assert steers(control.Control(given, given))
    assert starts(host.Host(given))
    steers(host.Host(given))  # type: ignore[arg-type]
    starts(control.Control(given, given))  # type: ignore[arg-type]


def test_what_the_use_cases_are_given_has_no_word_of_the_other_facet() -> None:
    """mypy reads these lines, too: each facet is typed as what its caller may do, and is no more when it runs."""
    starts, steers = hosting.host(), steering.control()
    assert callable(starts.check)
    assert callable(starts.admit)
    assert callable(steers.cancel)
    for_nobody: list[Callable[[], object]] = [
        lambda: starts.cancel,  # type: ignore[attr-defined]
        lambda: starts.resolve,  # type: ignore[attr-defined]
        lambda: starts.inspect,  # type: ignore[attr-defined]
        lambda: starts.retire,  # type: ignore[attr-defined]
        lambda: steers.check,  # type: ignore[attr-defined]
        lambda: steers.admit,  # type: ignore[attr-defined]
        lambda: steers.continue_with_input,  # type: ignore[attr-defined]
    ]
    for word in for_nobody:
        with pytest.raises(AttributeError):
            word()
