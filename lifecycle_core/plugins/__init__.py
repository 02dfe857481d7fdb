"""The built-in plugins, one per file."""
