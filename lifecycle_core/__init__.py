"""The lifecycle core: journal, engine and everything an invocation needs, without a user interface."""
