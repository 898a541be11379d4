"""Databases and state folders as text, and back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from base64 import b64decode, b64encode
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg

from tests.programs import postgres_binaries

if TYPE_CHECKING:
    from pathlib import Path

NOT_SQL = ("--", "SET ", "SELECT pg_catalog.set_config", "\\")
"""How lines of pg_dump begin that are comments, settings or commands of psql."""


def dump_sqlite(file: Path) -> str:
    """Return an SQLite database as SQL."""
    with closing(sqlite3.connect(file)) as connection:
        return "\n".join(connection.iterdump()) + "\n"


def restore_sqlite(sql: str, file: Path) -> None:
    """Make an SQLite database from SQL."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(sql)


def dump_postgres(url: str) -> str:
    """Return a PostgreSQL database as SQL that needs no psql."""
    words = [
        str(postgres_binaries() / "pg_dump"),
        "--inserts",
        "--no-owner",
        "--no-privileges",
        url,
    ]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = (line for line in text.splitlines() if line and not line.startswith(NOT_SQL))
    return "\n".join(lines) + "\n"


def restore_postgres(sql: str, url: str) -> None:
    """Fill an empty PostgreSQL database from SQL."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


def dump_folder(folder: Path) -> dict[str, str]:
    """Return the files of a folder, by relative path, in base64."""
    return {
        str(file.relative_to(folder)): b64encode(file.read_bytes()).decode()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def restore_folder(files: dict[str, str], folder: Path) -> None:
    """Write files into a folder that only their owner may read, as private keys must be."""
    folder.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(b64decode(content))


def sqlite_layout(file: Path) -> dict[str, Any]:
    """Return the tables and columns of an SQLite file, and its marks."""
    with closing(sqlite3.connect(file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        tables = {
            name: [f"{column[1]} {column[2]}" for column in connection.execute(_columns(name))]
            for (name,) in sorted(names)
        }
        marks = dict(connection.execute("SELECT name, value FROM meta ORDER BY name"))
        return {"tables": tables, "meta": marks}


def _columns(table: str) -> str:
    return f"PRAGMA table_info({table})"
