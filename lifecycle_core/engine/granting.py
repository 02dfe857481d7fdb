"""Read from a dispatch what its episode may use, after looking at the seal again (DESIGN 9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lifecycle_core.contract import digests, identities
from lifecycle_core.contract.invocation import AccessRule, WorkspaceCapability
from lifecycle_core.contract.ports import InvocationRecord, ToolError, Workspaces


@dataclass(frozen=True, kw_only=True)
class Grant:
    """A registered workspace and the rules for it; no workspace has an empty name."""

    workspace: str = ""
    access: tuple[AccessRule, ...] = ()


def grant(workspaces: Workspaces, record: InvocationRecord) -> Grant:
    """Return what an invocation was granted.

    Raises `ToolError` when the stored capability is not sealed, belongs to another episode or other rules, or its workspace
    is no longer registered: then no call of the invocation acts anywhere.
    """
    dispatch: Mapping[str, Any] = record.dispatch
    given = dispatch["workspace"]
    if given["kind"] == "none":
        return Grant()
    handle = given["handle" if given["kind"] == "write" else "view"]
    capability = WorkspaceCapability(kind=given["kind"], handle=handle)
    rules = dispatch["executor"]["turn"]["access"]
    holds = (
        digests.same(handle["episode"], dispatch["episode"])
        and handle["accessDigest"] == identities.access_digest(rules)
        and workspaces.is_sealed(record.tenant, capability)
    )
    if not holds:
        raise ToolError("CAPABILITY_MISMATCH", "this run has no right to its workspace any more")
    return Grant(workspace=capability.name, access=tuple(AccessRule(**rule) for rule in rules))
