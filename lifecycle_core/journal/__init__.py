"""The facts: deliveries, invocations, events, requests, decisions, leases, sessions and tombstones."""
