"""Close requests whose time has passed. That is an outcome of its own: it denies an approval and declines an input."""

import logging

from lifecycle_core.application import bootstrap, calls
from lifecycle_core.contract import errors
from lifecycle_core.engine import approvals, inputs, requests

log = logging.getLogger(__name__)


def sweep(limit: int = 100) -> int:
    """Expire what is due, each request in its own transaction that judges the time once; return how many."""
    services = bootstrap.services()
    due = bootstrap.journal().expired_requests(services.clock.now_ms(), limit)
    expired = 0
    for request in due:
        try:
            call = calls.of_request(request.invocation, request.call)
            expire = approvals.expire if request.kind == "approval" else inputs.expire
            facts = expire(call, str(request.id))
            requests.resolve(services, request.invocation, facts, by="system:sweeper")
            expired += 1
        except errors.Refused as refusal:
            log.info("request %s was closed otherwise: %s", request.id, refusal)
        except Exception:
            # One request that cannot be closed must not keep the others open beyond their time.
            log.exception("request %s could not expire", request.id)
    return expired
