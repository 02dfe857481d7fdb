"""Lay out what the harness mounts, and prove it.

The profile is an allow-list: it stands on no other profile, so what it does not name is not there. Before a session starts,
everything in the home of the harness but its session logs is replaced, so that nothing which lies there can add a layer.
"""

import re
import shutil
import subprocess
import tempfile
import textwrap
from importlib import resources
from pathlib import Path
from typing import Final
from urllib import parse

from lifecycle_core.contract import errors

PROFILE: Final = "lifecycle"
SESSIONS: Final = "sessions"
WORK: Final = "work"
INSTRUCTIONS: Final = "instructions.txt"
PLUGIN: Final = "instructions.mjs"
PACKAGE: Final = '{"name": "dsh-profile-lifecycle", "private": true, "dependencies": {}, "dsh": {"profile": {"bundles": []}}}\n'
PATIENCE: Final = 30.0
LOCAL: Final = re.compile(r"name: (?:>-\n +)?file://(\S+)\n")


def rows() -> str:
    """Return the patch file of the profile."""
    return _resource("profile.yml")


def expected() -> str:
    """Return what the runtime has to say that it mounts: the rows of the profile and nothing else."""
    return textwrap.dedent(rows().partition("- insert:\n")[2])


def lay_out(home: Path, instructions: str) -> None:
    """Make the home of a harness what it has to be; the session logs stay."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for found in home.iterdir():
        if found.name != SESSIONS:
            shutil.rmtree(found) if found.is_dir() and not found.is_symlink() else found.unlink()
    profile = home / "profiles" / PROFILE
    profile.mkdir(parents=True)
    (profile / "package.json").write_text(PACKAGE)
    (profile / "cordis.yml").write_text("[]\n")
    (profile / "cordis.patch.yml").write_text(rows())
    (profile / PLUGIN).write_text(_resource(PLUGIN))
    (home / INSTRUCTIONS).write_text(instructions, encoding="utf-8")
    (home / WORK).mkdir()


def environment(home: Path, unpacked: Path) -> dict[str, str]:
    """Return what every process of the runtime is given; what it unpacks of itself serves all of them."""
    return {"DSH_HOME": str(home), "HOME": str(home), "PKG_NATIVE_CACHE_PATH": str(unpacked)}


def check(runtime: Path, storage: Path, unpacked: Path) -> None:
    """Raise `errors.ConfigurationInvalid` unless the runtime mounts exactly the rows of the profile."""
    with tempfile.TemporaryDirectory(dir=storage, prefix=".check-") as folder:
        lay_out(Path(folder), "")
        mounted = _dump(runtime, Path(folder), unpacked)
    if mounted != expected():
        raise errors.ConfigurationInvalid(
            detail=f"the harness mounts other than it should: {_beyond(mounted)}"
        )


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _dump(runtime: Path, home: Path, unpacked: Path) -> str:
    """Return the composition as the runtime tells it, in the words of the profile: without where its parts come from."""
    command = [str(runtime), "--profile", PROFILE, "--dump-config"]
    try:
        told = subprocess.run(
            command,
            env=environment(home, unpacked),
            cwd=home / WORK,
            capture_output=True,
            check=True,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.SubprocessError) as cause:
        raise errors.ConfigurationInvalid(
            detail=f"the harness does not tell what it mounts: {cause}"
        ) from cause
    lines = told.stdout.decode("utf-8", "replace").splitlines(keepends=True)
    plugin = (home / "profiles" / PROFILE / PLUGIN).resolve()
    text = "".join(line for line in lines if not line.startswith("#"))
    return LOCAL.sub(lambda found: _as_written(found, plugin), text)


def _as_written(found: re.Match[str], plugin: Path) -> str:
    """Return a row's name as the profile has it, which names our own plugin relative to itself."""
    is_ours = Path(parse.unquote(found[1])).resolve() == plugin
    return f"name: ./{PLUGIN}\n" if is_ours else found[0]


def _beyond(mounted: str) -> str:
    known = set(expected().splitlines())
    beyond = [line.strip() for line in mounted.splitlines() if line not in known]
    return "; ".join(beyond[:5]) or "a row is missing or changed its place"
