"""Hold the facet of hosts, for the use cases that start and continue and for no other."""

from functools import cache

from lifecycle_core.application import bootstrap
from lifecycle_core.engine.host import Host, HostFacet


@cache
def host() -> HostFacet:
    """Return the facet that starts and continues."""
    return Host(bootstrap.services())
