"""Tests: one sentence each, grouped like the packages that they are about."""
