"""Measure what the console costs, on a database that holds nothing else."""
