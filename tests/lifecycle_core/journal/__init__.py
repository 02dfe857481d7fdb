"""Tests of the journal: what is stored, what is refused, and what a reader sees."""
