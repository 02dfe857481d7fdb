"""Hold the facet of coordinators, for the use cases that cancel, resolve, inspect and retire and for no other."""

from functools import cache

from lifecycle_core.application import bootstrap
from lifecycle_core.engine.control import Control, ControlFacet


@cache
def control() -> ControlFacet:
    """Return the facet that cancels, resolves, inspects and retires."""
    return Control(bootstrap.journal(), bootstrap.clock())
