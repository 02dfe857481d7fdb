"""What happened outside of the database, written down line by line, so that a kill takes nothing of it back."""

import json
import os
from pathlib import Path
from typing import Any

type Line = dict[str, Any]


class Diary:
    """Append lines to a file that several incarnations share, one after the other."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)

    def write(self, kind: str, **what: Any) -> None:
        """Append one line; it is the kernel's when this returns."""
        os.write(self._file, json.dumps({"kind": kind, **what}).encode() + b"\n")


def read(path: Path) -> list[Line]:
    """Return the lines so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def incarnations(lines: list[Line]) -> list[list[Line]]:
    """Split lines by the process that wrote them."""
    lives: list[list[Line]] = []
    for line in lines:
        if line["kind"] == "born":
            lives.append([])
        lives[-1].append(line)
    return lives
