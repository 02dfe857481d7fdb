"""Canaries: secrets that are planted everywhere, and looked for everywhere."""
