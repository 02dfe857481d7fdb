"""REST under /api/v1: one file per resource, each operation one use case."""
