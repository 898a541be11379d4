"""Stores of the log: in memory, in SQLite and in PostgreSQL, with their tables, rows, files and locks."""
