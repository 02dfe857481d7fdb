"""Journeys through a running console, in a real browser."""
