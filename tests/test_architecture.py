"""The layout and the directions of imports are what the design says."""

import os
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = {
    "access",
    "application",
    "contract",
    "engine",
    "journal",
    "plugins",
    "providers",
    "testing",
    "tools",
    "workers",
}
FRAMEWORK = {"access", "application", "journal", "workers"}
CONSOLE = {"api", "consumers", "forms", "management", "templatetags", "views"}
TOP = {".ci", "console", "docs", "lifecycle_core", "locale", "scripts", "static", "templates", "tests"}
NAMELESS = {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}

# A file that breaks one contract, and the contract that must say so.
VIOLATIONS = {
    "lifecycle_core/contract/broken.py": ("import lifecycle_core.engine", "Inside the core"),
    "lifecycle_core/engine/broken.py": ("import django", "Neutral packages know no framework"),
    "lifecycle_core/plugins/broken.py": ("import subprocess", "Only adapters, tools and clients"),
    "lifecycle_core/workers/broken.py": (
        """
        import lifecycle_core.access.models
        import lifecycle_core.application.hosting
        import lifecycle_core.application.steering
        import lifecycle_core.engine.control
        import lifecycle_core.engine.host
        import lifecycle_core.journal.models
        """,
        (
            "The journal's models|The access models|The host facet is|The host facet serves|The control facet is"
            "|The control facet serves"
        ),
    ),
    "lifecycle_core/application/broken.py": ("import console", "The console stands on the core"),
    "console/api/broken.py": ("import console.views", "REST, pages and sockets"),
    "console/views/broken.py": ("import lifecycle_core.engine", "The console enters through"),
    "lifecycle_core/utils/__init__.py": ("", "Inside the core"),
    "console/cycle_one.py": ("import console.cycle_two", "No cycles"),
    "console/cycle_two.py": ("import console.cycle_one", "No cycles"),
}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the import contracts on the packages in a folder."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
    )


def contracts() -> list[dict[str, Any]]:
    """Read the import contracts as configured."""
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return list(configured["tool"]["importlinter"]["contracts"])


def committed() -> list[Path]:
    """List the files that are under version control."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in names.stdout.split("\0") if name]


def packages(folder: Path) -> set[str]:
    """Name the folders with Python in them, directly under one."""
    return {path.parent.name for path in folder.glob("*/*.py")}


def test_imports_keep_every_contract() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Lint a copy that breaks every contract at once."""
    copy = tmp_path_factory.mktemp("broken")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for package in ("lifecycle_core", "console"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (source, _) in VIOLATIONS.items():
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(textwrap.dedent(source))
    return lint(copy).stdout


@pytest.mark.parametrize(
    "name", sorted({name for _, names in VIOLATIONS.values() for name in names.split("|")})
)
def test_a_forbidden_import_breaks_its_contract(broken: str, name: str) -> None:
    lines = [line for line in broken.splitlines() if line.startswith(name)]
    assert any(" BROKEN" in line for line in lines), broken


def test_the_core_has_the_packages_of_the_design() -> None:
    assert packages(ROOT / "lifecycle_core") == CORE


def test_every_package_that_may_not_know_a_framework_is_under_the_contract() -> None:
    [neutral] = [one for one in contracts() if one["name"] == "Neutral packages know no framework"]
    assert set(neutral["source_modules"]) == {f"lifecycle_core.{name}" for name in CORE - FRAMEWORK}


def test_the_console_has_the_packages_of_the_design() -> None:
    assert packages(ROOT / "console") == CONSOLE


def test_the_top_folder_has_no_other_folders() -> None:
    assert {path.parts[0] for path in committed() if len(path.parts) > 1} == TOP


def test_no_module_is_named_after_nothing() -> None:
    assert [str(path) for path in committed() if path.stem.lower() in NAMELESS] == []


def test_no_module_may_hold_both_facets() -> None:
    """Who starts cannot steer: the two lists of those who may hold a facet have nobody in common."""
    by_name = {contract["name"]: contract for contract in contracts()}
    starts = by_name["The host facet serves those who start and continue"]["allowed_importers"]
    steers = by_name["The control facet serves those who cancel, resolve, inspect and retire"]
    assert starts
    assert not {*starts} & {*steers["allowed_importers"]}
