"""What was admitted is what runs: the route of model calls, and every link of the chain of instructions.

Reference: seed-contracts 4 and 13.
"""

from collections.abc import Mapping
from typing import Any

from lifecycle_core.contract import digests, errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import ModelRoute
from lifecycle_core.engine import composing
from lifecycle_core.engine.episode import Episode


def route(episode: Episode) -> ModelRoute:
    """Return the admitted route. Raises `errors.ModelBindingMismatch` where what would run is bound to another one."""
    session = _part(_part(episode.record.dispatch, "executor"), "session")
    model, driver = _part(session, "model"), _part(session, "driver")
    admitted = _part(driver, "configuration")
    agent, record = episode.agent, episode.record
    bound = (
        model.get("providerModelIdentity") == record.model == agent.model
        and driver.get("providerIdentity") == record.provider == agent.provider
        and admitted.get("baseURL", agent.base_url) == agent.base_url
        and admitted.get("credentialRef", agent.credential) == agent.credential
    )
    if not bound:
        raise errors.ModelBindingMismatch
    configuration: dict[str, Json] = {**_part(model, "configuration"), **admitted}
    return ModelRoute(model=record.model, base_url=agent.base_url, configuration=configuration)


def instructions(episode: Episode) -> str:
    """Return the agent's instructions, once every link of the chain is what was admitted: the agent's and the action's.

    Raises `errors.ExecutorBindingMismatch` where one is another.
    """
    dispatch, agent = episode.record.dispatch, episode.agent
    admitted = _part(_part(_part(dispatch, "executor"), "session"), "instructions")
    action = composing.action_of(agent, episode.record.action).as_json()
    if admitted.get("contentIdentity") != digests.digest(agent.instructions):
        raise errors.ExecutorBindingMismatch
    if not digests.same(dict(_part(dispatch, "action")), action):
        raise errors.ExecutorBindingMismatch
    return agent.instructions


def _part(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}
