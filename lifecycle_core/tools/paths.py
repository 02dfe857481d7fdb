"""The names of files in a workspace, and which of them an agent may use (reference: seed-contracts 14).

A path is brought into one spelling first and judged in that spelling only, so that nothing is admitted under one name and
opened under another. Rules compare text exactly: another case or another Unicode form is another name.
"""

import re
from collections.abc import Sequence
from typing import Final

from lifecycle_core.contract.invocation import AccessRule, Mode
from lifecycle_core.contract.ports import ToolError

ROOT: Final = "."
MAX_PATH_BYTES: Final = 4096
MAX_NAME_BYTES: Final = 255

_DRIVE = re.compile(r"[A-Za-z]:")


def normalise(path: str) -> str:
    """Return the one spelling of a path relative to the root, `.` for the root itself.

    Raises `ToolError` PATH_REFUSED for what is empty, absolute, climbs, or carries characters that a person would not see.
    """
    slashed = path.replace("\\", "/")
    if not path:
        raise refused("the path is empty")
    if slashed.startswith("/") or _DRIVE.match(slashed) or slashed.split("/")[0].startswith("~"):
        raise refused("the path must be relative to the workspace")
    if not path.isprintable():
        raise refused("the path has control, format or other invisible characters")
    names = [name for name in slashed.split("/") if name not in ("", ".")]
    if ".." in names:
        raise refused("the path must not contain ..")
    if len(slashed.encode()) > MAX_PATH_BYTES or any(len(name.encode()) > MAX_NAME_BYTES for name in names):
        raise refused("the path is too long")
    return "/".join(names) or ROOT


def file_name(path: str) -> str:
    """Return the one spelling of a path that names a file; a folder's spelling is refused."""
    normal = normalise(path)
    if normal == ROOT or path.endswith(("/", "\\", "/.", "\\.")):
        raise refused("the path names a folder")
    return normal


def check_admitted(path: str, mode: Mode, access: Sequence[AccessRule]) -> None:
    """Raise `ToolError` OUTSIDE_ACCESS unless a rule admits a normalised path; what may be written may be read."""
    if not any(_covers(rule.path, path) for rule in access if mode == "read" or rule.mode == "write"):
        admitted = ", ".join(f"{rule.mode} {rule.path}" for rule in access) or "nothing"
        raise ToolError("OUTSIDE_ACCESS", f"{mode} access does not reach {path}; admitted: {admitted}")


def _covers(rule: str, path: str) -> bool:
    if rule == "**":
        return True
    if rule.endswith("/**"):
        folder = rule.removesuffix("/**")
        return path == folder or path.startswith(folder + "/")
    return path == rule


def refused(detail: str) -> ToolError:
    """Return the refusal of a path that can never name anything in the workspace."""
    return ToolError("PATH_REFUSED", detail)
