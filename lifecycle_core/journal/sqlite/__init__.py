"""A SQLite backend for Django in which one fair lock orders everything that writes."""
