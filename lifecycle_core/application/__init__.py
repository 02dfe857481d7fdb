"""The only door: one function for every use case, behind every page, route and command."""
