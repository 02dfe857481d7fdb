"""The index of families is what pytest collects; and the one family without another place."""

import dataclasses
import inspect
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from lifecycle_core.engine import turn
from lifecycle_core.engine.host import Host
from lifecycle_core.engine.services import Services
from lifecycle_core.providers import chat_completions
from lifecycle_core.providers.dsh import provider as dsh
from tests.lifecycle_core.engine import managed
from tests.lifecycle_core.engine.families import FAMILIES, OTHERS, Family

ROOT: Final = Path(__file__).parents[3]
EVERY: Final = {str(name): family for name, family in [*FAMILIES.items(), *OTHERS.items()]}
# Tests that drive one provider need no parameter that says which.
PLACES: Final = {
    "providers.dsh.": dsh.KEY,
    "providers.test_configuration::test_the_limits_of_chats": chat_completions.KEY,
    "providers.test_sessions::": chat_completions.KEY,
}


def path(module: str) -> str:
    return f"tests/lifecycle_core/{module.replace('.', '/')}.py"


@pytest.fixture(scope="module")
def collected() -> Mapping[tuple[str, str], frozenset[str]]:
    """Return the parameters of every test that a run of all tests would collect, by its module and name."""
    paths = sorted({path(module) for family in EVERY.values() for module, _ in family.tests})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *paths]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[tuple[str, str], frozenset[str]] = {}
    for line in said.splitlines():
        place, _, test = line.partition("::")
        name, _, parameters = test.partition("[")
        found[place, name] = found.get((place, name), frozenset()) | {parameters}
    return found


def providers(module: str, name: str, parameters: frozenset[str]) -> set[str]:
    """Return the providers on which a test runs."""
    named = {key for key in managed.KEYS if any(key in parameter for parameter in parameters)}
    return named | {key for place, key in PLACES.items() if f"{module}::{name}".startswith(place)}


def problems(family: Family, collected: Mapping[tuple[str, str], frozenset[str]]) -> list[str]:
    """Return where a family of the index is not what pytest collects."""
    found = [] if family.tests else ["it has no test"]
    runs_on: set[str] = set()
    for module, name in family.tests:
        parameters = collected.get((path(module), name))
        if parameters is None:
            found.append(f"{module} has no {name}")
        else:
            runs_on |= providers(module, name, parameters)
    found += [
        f"it does not run on {key}" for key in managed.KEYS if key not in runs_on | family.without.keys()
    ]
    found += [f"it does run on {key}" for key in family.without if key in runs_on]
    return found + [f"{key} is no provider" for key in family.without if key not in managed.KEYS]


def test_there_are_twenty_seven_families_and_those_of_the_other_files() -> None:
    assert list(FAMILIES) == list(range(1, 28))
    files = [name.partition(":")[0] for name in OTHERS]
    assert {name: files.count(name) for name in files} == {
        "journal": 5,
        "custody": 1,
        "providers": 11,
        "validator": 1,
    }


@pytest.mark.parametrize("name", EVERY)
def test_each_family_is_collected_on_every_provider_but_where_the_index_says_why_not(
    name: str, collected: Mapping[tuple[str, str], frozenset[str]]
) -> None:
    assert problems(EVERY[name], collected) == []
    assert all(EVERY[name].without.values())


SOMEWHERE: Final = {(path("a.test_b"), "test_c"): frozenset({"x-dsh-headless]", "chat-completions]"})}


@pytest.mark.parametrize(
    ("family", "problem"),
    [
        (Family("", [], dict.fromkeys(managed.KEYS, "why")), "it has no test"),
        (Family("", [("a.test_b", "test_c"), ("a.test_b", "test_d")]), "a.test_b has no test_d"),
        (Family("", [("a.test_b", "test_c")], {dsh.KEY: "why"}), "it does run on dsh-headless"),
        (Family("", [("a.test_b", "test_c")], {"codex": "why"}), "codex is no provider"),
    ],
)
def test_what_is_stale_in_the_index_is_named(family: Family, problem: str) -> None:
    assert problems(family, SOMEWHERE) == [problem]


def test_a_provider_that_is_missing_is_named() -> None:
    alone = {(path("a.test_b"), "test_c"): frozenset({"chat-completions]"})}
    family = Family("", [("a.test_b", "test_c")])
    assert problems(family, SOMEWHERE) == []
    assert problems(family, alone) == ["it does not run on dsh-headless"]


def test_nobody_can_bring_a_validator() -> None:
    """There is one validator and no place to put another, so there is none that could be missing or a bare function."""
    places = [
        *(field.name for field in dataclasses.fields(Services)),
        *inspect.signature(Host).parameters,
        *inspect.signature(turn.ending).parameters,
    ]
    assert [place for place in places if "valid" in place or "check" in place] == []
