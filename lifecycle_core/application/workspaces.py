"""Give hosts the right of their own episodes to a registered workspace (DESIGN 9)."""

from collections.abc import Sequence

from lifecycle_core.application import agents, composition, permissions
from lifecycle_core.contract import errors
from lifecycle_core.contract.actor import Actor
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.invocation import WorkspaceCapability
from lifecycle_core.engine import composing, dispatches


def grant(
    actor: Actor, workspace: str, *, agent: str, episode: Json, access: Sequence[Json] | None = None
) -> WorkspaceCapability:
    """Return a sealed capability for one episode of an agent, under all of the agent's rules or some of them.

    Raises `errors.NotFound` for an unknown agent or another workspace than the agent's, `errors.AgentWithdrawn`,
    `errors.SchemaInvalid` for what is no episode, and `errors.CapabilityMismatch` for rules that the agent does not have.
    """
    permissions.check_can_start(actor)
    definition = agents.startable(actor.tenant, agent)
    if not workspace or workspace != definition.workspace:
        raise errors.NotFound
    allowed = composing.rules(definition)
    wanted = allowed if access is None else list(access)
    if any(rule not in allowed for rule in wanted):
        raise errors.CapabilityMismatch
    return composition.workspace(
        actor.tenant, definition, wanted, dispatches.read_episode(episode, at="/episode")
    )
