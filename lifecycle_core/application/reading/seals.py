"""Whether the right to a workspace is still as this console sealed it."""

from uuid import UUID

from lifecycle_core.application import bootstrap
from lifecycle_core.application.reading import invocations
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.invocation import WorkspaceCapability


def sealed(actor: Actor, invocation: UUID) -> bool:
    """Tell whether the workspace capability of an invocation bears a seal of ours, and fits it. Raises `errors.NotFound`."""
    workspace = invocations.dispatch(actor, invocation).get("workspace", {})
    kind = workspace.get("kind", "none")
    handle = workspace.get("handle" if kind == "write" else "view")
    if handle is None:
        return False
    capability = WorkspaceCapability(kind=kind, handle=handle)
    return bootstrap.services().workspaces.is_sealed(actor.tenant, capability)
