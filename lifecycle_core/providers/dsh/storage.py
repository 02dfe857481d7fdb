"""Know where native sessions lie: one home for an affinity, and in it the log of each of its sessions."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lifecycle_core.contract import digests
from lifecycle_core.providers.dsh import mounts
from lifecycle_core.providers.dsh.admitted import PREFIX

IDENTITY: Final = re.compile(r"session-[0-9a-f]{32}")
LOG: Final = "session.v4.jsonl"
HOME: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a session log holds: how many answers of the model, and the tool of every call in them by the call's id."""

    answers: int = 0
    calls: Mapping[str, str] = field(default_factory=dict)


class LogDamaged(Exception):
    """A session log cannot be read to its end."""


@dataclass(frozen=True)
class Storage:
    """The folder below which all homes lie. Two tenants may well have an affinity of the same identity."""

    root: Path

    def home(self, tenant: str, affinity: str) -> Path:
        """Return the home of an affinity, which may not be there yet."""
        return self.root / hashlib.sha256(digests.canonical([tenant, affinity])).hexdigest()

    def forget(self, tenant: str, affinity: str) -> None:
        """Delete all native sessions of an affinity; harmless when repeated."""
        home = self.home(tenant, affinity)
        if home.exists():
            shutil.rmtree(home)

    def keep_only(self, known: Iterable[tuple[str, str]]) -> None:
        """Delete the native sessions of all but these affinities, each with its tenant; harmless when repeated.

        What is known is read after what is there: an affinity is known before it has a home.
        """
        homes = {found.name: found for found in self.root.glob("*") if HOME.fullmatch(found.name)}
        if not homes:
            return
        kept = {self.home(tenant, affinity).name for tenant, affinity in known}
        for name in homes.keys() - kept:
            shutil.rmtree(homes[name])

    def files(self) -> dict[str, Path]:
        """Return every session log, by its path below the root."""
        found = self.root.glob(f"*/{mounts.SESSIONS}/*/*/{LOG}")
        return {
            str(path.relative_to(self.root)): path for path in found if HOME.fullmatch(path.parents[3].name)
        }


def log(home: Path, identity: str) -> Path:
    """Return the log of exactly this session. Raises `LookupError`."""
    if not IDENTITY.fullmatch(identity):
        raise LookupError("no session of the harness has this identity")
    found = list((home / mounts.SESSIONS).glob(f"*/{identity}/{LOG}"))
    if len(found) != 1:
        raise LookupError("the native session is not there")
    return found[0]


def held(path: Path) -> Held:
    """Read what a log holds. Raises `LogDamaged` when a line of it is not whole."""
    answers, calls = 0, dict[str, str]()
    for event in _events(path):
        if event.get("type") == "assistant/message":
            answers += 1
            made = [block for block in _blocks(event) if block.get("type") == "tool-call"]
            calls |= {block["id"]: block["name"].removeprefix(PREFIX) for block in made}
    return Held(answers=answers, calls=calls)


def keep(path: Path) -> None:
    """Make a log survive a power cut."""
    for found in (path, path.parent):
        descriptor = os.open(found, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _events(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as stream:
        for line in stream:
            try:
                event = json.loads(line)
            except ValueError as cause:
                raise LogDamaged("a line of the session log is not whole") from cause
            yield event if isinstance(event, dict) else {}


def _blocks(event: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        return [block for block in event["data"]["message"]["content"] if isinstance(block, dict)]
    except (KeyError, TypeError) as cause:
        raise LogDamaged("an answer in the session log has another form than it should") from cause
