"""Everything that is read: one function per list and per thing, each confined to what the actor may see."""

from lifecycle_core.application.agents import listed as agents
from lifecycle_core.application.agents import shown as agent
from lifecycle_core.application.reading.affinities import affinities, affinity, affinity_of
from lifecycle_core.application.reading.approvals import approval, approvals
from lifecycle_core.application.reading.catalogue import providers, tools
from lifecycle_core.application.reading.deliveries import deliveries, delivery
from lifecycle_core.application.reading.inbox import inbox, inbox_counts
from lifecycle_core.application.reading.inputs import input, inputs
from lifecycle_core.application.reading.invocations import dispatch, invocation, invocations
from lifecycle_core.application.reading.journal import events, transcript
from lifecycle_core.application.reading.leases import leases
from lifecycle_core.application.reading.seals import sealed
from lifecycle_core.application.reading.timeline import timeline
from lifecycle_core.application.reading.tombstones import tombstone, tombstones
from lifecycle_core.application.versions import listed as agent_versions
from lifecycle_core.application.versions import shown as agent_version

__all__ = [
    "affinities",
    "affinity",
    "affinity_of",
    "agent",
    "agent_version",
    "agent_versions",
    "agents",
    "approval",
    "approvals",
    "deliveries",
    "delivery",
    "dispatch",
    "events",
    "inbox",
    "inbox_counts",
    "input",
    "inputs",
    "invocation",
    "invocations",
    "leases",
    "providers",
    "sealed",
    "timeline",
    "tombstone",
    "tombstones",
    "tools",
    "transcript",
]
