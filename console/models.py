"""Rows of the console alone."""
