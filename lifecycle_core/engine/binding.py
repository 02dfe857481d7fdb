"""The route that was admitted: model calls of an invocation go there and nowhere else (reference: seed-contracts 4 and 13)."""

from collections.abc import Mapping
from typing import Any

from lifecycle_core.contract import errors
from lifecycle_core.contract.digests import Json
from lifecycle_core.contract.ports import ModelRoute
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


def _part(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}
