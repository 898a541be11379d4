"""Stores of the log: in memory, in SQLite and in PostgreSQL; their tables, files and locks."""
