"""Built-in tools: one family per file."""
