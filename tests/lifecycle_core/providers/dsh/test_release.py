"""Which harness is run, and what it mounts."""

from importlib import metadata
from pathlib import Path

import pytest

from lifecycle_core.application import bootstrap
from lifecycle_core.contract import errors, ports
from lifecycle_core.providers.dsh import mounts, provider, release
from tests.lifecycle_core.providers.dsh.conftest import MODEL, UNPACKED, needs_harness


def configuration(folder: Path) -> provider.Configuration:
    return provider.Configuration(storage=folder / "dsh")


def request() -> ports.SessionRequest:
    route = ports.ModelRoute(model=MODEL, base_url="http://127.0.0.1:1/v1", configuration={})
    return ports.SessionRequest(affinity="a", opaque_identity="s", route=route, instructions="", tools=())


def test_without_the_extra_every_session_is_refused_before_any_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "MODULES", ("no_such_module",))
    absent = provider.create(configuration(tmp_path))
    for session in (absent.open, absent.restore):
        with pytest.raises(errors.ProviderNotImplemented):
            session(request())
    absent.dispose()
    assert not list(tmp_path.iterdir())


def test_the_console_says_whether_the_harness_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bootstrap.implemented("chat-completions")
    assert not bootstrap.implemented("copilot-sdk")
    assert not bootstrap.implemented("another")
    assert bootstrap.implemented(provider.KEY) == release.is_installed()
    monkeypatch.setattr(release, "MODULES", ("no_such_module",))
    assert provider.KEY in bootstrap.providers().keys
    assert not bootstrap.implemented(provider.KEY)


@needs_harness
@pytest.mark.parametrize("distribution", release.DISTRIBUTIONS)
def test_another_version_is_refused_when_the_provider_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distribution: str
) -> None:
    version = metadata.version

    def other(name: str) -> str:
        return "0.2.1" if name == distribution else version(name)

    monkeypatch.setattr(metadata, "version", other)
    with pytest.raises(errors.ConfigurationInvalid) as refused:
        provider.create(configuration(tmp_path))
    assert distribution in refused.value.detail


@needs_harness
def test_the_runtime_mounts_the_rows_of_the_profile_and_no_tool_of_its_own(tmp_path: Path) -> None:
    mounts.check(release.runtime(), tmp_path, UNPACKED)
    names = [line.split("'")[1] for line in mounts.expected().splitlines() if "name: '" in line]
    ambient = (
        "/dsh-tool-",
        "skill",
        "telemetry",
        "subagent",
        "plan",
        "hook",
        "bash",
        "terminal",
        "sandbox",
        "title",
    )
    assert names
    assert not [name for name in names for word in ambient if word in name]
    assert [name for name in names if "mcp" in name] == ["@deepseek-ai/dsh-mcp-client"]


@needs_harness
def test_a_runtime_that_mounts_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = mounts.rows()
    monkeypatch.setattr(mounts, "expected", lambda: rows.partition("- insert:\n")[2])
    with pytest.raises(errors.ConfigurationInvalid):
        mounts.check(release.runtime(), tmp_path, UNPACKED)


@needs_harness
def test_a_layer_that_lies_in_the_home_is_removed_and_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = "- insert:\n    - id: tool-todo\n      name: '@deepseek-ai/dsh-tool-todo'\n"
    home = tmp_path / "home"
    home.mkdir()
    (home / "cordis.patch.yml").write_text(layer)
    (home / "sessions").mkdir()
    mounts.lay_out(home, "You test.")
    assert sorted(path.name for path in home.iterdir()) == [
        "instructions.txt",
        "profiles",
        "sessions",
        "work",
    ]
    lay_out = mounts.lay_out

    def with_layer(home: Path, instructions: str) -> None:
        lay_out(home, instructions)
        with (home / "profiles" / "lifecycle" / "cordis.patch.yml").open("a") as patch:
            patch.write(layer)

    monkeypatch.setattr(mounts, "lay_out", with_layer)
    with pytest.raises(errors.ConfigurationInvalid, match="tool-todo"):
        mounts.check(release.runtime(), tmp_path, UNPACKED)


@pytest.mark.parametrize(
    "given",
    [{"storage": Path("relative")}, {"grace_ms": -1}, {"start_seconds": 0}, {"idle_seconds": -1.0}],
)
def test_a_configuration_that_makes_no_sense_is_refused(tmp_path: Path, given: dict[str, object]) -> None:
    fields: dict[str, object] = {"storage": tmp_path}
    with pytest.raises(errors.ConfigurationInvalid):
        provider.Configuration(**(fields | given))  # type: ignore[arg-type]
