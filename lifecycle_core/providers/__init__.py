"""Adapters that open or exactly restore native sessions and run turns in them."""
