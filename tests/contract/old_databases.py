"""The recorded databases: written once by the version of the recording, restored for each test."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import tempfile
from base64 import b64decode, b64encode
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import psycopg

from tests.contract import old_house, recordings
from tests.contract.site import serving
from tests.log.postgres_server import quick_folder, running
from tests.programs import postgres_binaries
from threedice.db.schema import load_migrations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SQLITE, POSTGRES = "old-sqlite", "old-postgres"


@dataclass(frozen=True)
class HousePaths:
    """Database, state folder, data folder and configuration file of a house."""

    database: str
    state: Path
    data: Path
    house_file: Path

    @property
    def kept_checkpoints(self) -> Path:
        """The copy of the checkpoint file from the time of the recording."""
        return self.data.parent / "kept-checkpoints.jsonl"

    @property
    def kept_keys(self) -> Path:
        """The public keys that were exported before the key was rotated."""
        return self.data.parent / "kept-keys.json"


def sqlite_paths(folder: Path) -> HousePaths:
    """Return the paths of an SQLite house in a folder."""
    file = folder / "house.sqlite"
    state = folder / "house.sqlite.state"
    return HousePaths(f"sqlite:///{file}", state, folder / "data", folder / "house.toml")


def postgres_paths(folder: Path, url: str) -> HousePaths:
    """Return the paths of a PostgreSQL house; its state folder is named after the database."""
    database, _, host = url.rpartition("/")[2].partition("?host=")
    name = ",".join((quote(unquote(host), safe=""), "5432", database))
    return HousePaths(
        url, folder / "data" / "threedice" / name, folder / "data", folder / "house.toml"
    )


def restore(name: str, paths: HousePaths) -> dict[str, Any]:
    """Restore a recorded house and return its recording."""
    recorded: dict[str, Any] = recordings.read(f"{name}.json")
    sql = (recordings.FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    if name == SQLITE:
        restore_sqlite(sql, Path(paths.database.removeprefix("sqlite:///")))
    else:
        restore_postgres(sql, paths.database)
    restore_folder(recorded["state"], paths.state)
    paths.data.mkdir(exist_ok=True)
    paths.house_file.write_text(old_house.HOUSE_FILE, encoding="utf-8")
    paths.kept_keys.write_text(recorded["given"]["keys"], encoding="utf-8")
    checkpoints = (paths.state / "checkpoints.jsonl").read_bytes()
    paths.kept_checkpoints.write_bytes(checkpoints)
    return recorded


# --- recording ----------------------------------------------------------------------------------


def record() -> None:
    """Write both databases and record the observations of them."""
    with _new_houses() as new_paths:
        for name in (SQLITE, POSTGRES):
            paths = new_paths(name)
            given = old_house.write_house(paths.database, paths.data, paths.house_file)
            recordings.write(f"{name}.json", {"given": given, "state": dump_folder(paths.state)})
            recordings.save(recordings.FOLDER / f"{name}.sql", _dumped(name, paths))
    observe()


def observe() -> None:
    """Record the observations of the recorded databases again."""
    with _new_houses() as new_paths:
        for name in (SQLITE, POSTGRES):
            paths = new_paths(name)
            recorded = restore(name, paths)
            with serving(paths.database, paths.data, paths.house_file, "after") as site:
                users = recorded["given"]["users"]
                crew = old_house.Crew.sign_in(site, users, wait_for_new_code=True)
                recorded["seen"] = old_house.observe(crew, recorded["given"])
                recorded["after"] = old_house.play_on(crew)
            recordings.write(f"{name}.json", recorded)


def _dumped(name: str, paths: HousePaths) -> str:
    if name == SQLITE:
        return dump_sqlite(Path(paths.database.removeprefix("sqlite:///")))
    return dump_postgres(paths.database)


@contextmanager
def _new_houses() -> Iterator[Callable[[str], HousePaths]]:
    """Yield a function that returns the paths of a new, empty house."""
    with (
        tempfile.TemporaryDirectory(prefix="threedice-contract-") as folder,
        running(parent=quick_folder()) as server,
    ):

        def new_paths(name: str) -> HousePaths:
            own = Path(folder) / name
            own.mkdir()
            return sqlite_paths(own) if name == SQLITE else postgres_paths(own, server.fresh())

        yield new_paths


# --- databases and folders as text -------------------------------------------------------------

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


# --- version 2 ----------------------------------------------------------------------------------

VERSION_2 = "version-2"
"""A house of one table and two accounts, written once by the program with tables of version 2."""


def restore_version_2(folder: Path) -> Path:
    """Restore the house of version 2 in a folder, and return its SQLite file."""
    file = folder / "house.sqlite"
    restore_sqlite((recordings.FOLDER / f"{VERSION_2}.sql").read_text(encoding="utf-8"), file)
    restore_folder(recordings.read(f"{VERSION_2}-state.json"), folder / "house.sqlite.state")
    return file


def restore_version_2_backup(file: Path) -> None:
    """Restore the backup that the program of version 2 made of its house."""
    sql = (recordings.FOLDER / f"{VERSION_2}-backup.sql").read_text(encoding="utf-8")
    restore_sqlite(sql, file)


def fill_version_2(url: str, file: Path) -> None:
    """Fill an empty PostgreSQL database with tables of version 2 and the rows of an SQLite file."""
    migrations = load_migrations("postgresql")
    with closing(sqlite3.connect(file)) as source, psycopg.connect(url) as target:
        for statement in (*migrations[1], *migrations[2]):
            target.execute(statement.encode())
        names = source.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        for (table,) in names.fetchall():
            target.execute(
                f"ALTER TABLE {table} DISABLE TRIGGER USER; DELETE FROM {table}".encode()
            )
            for row in source.execute(f"SELECT * FROM {table}"):
                marks = ", ".join(["%s"] * len(row))
                target.execute(f"INSERT INTO {table} VALUES ({marks})".encode(), row)
            target.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER".encode())


def common_part(old: Any, new: Any) -> Any:
    """Return the new value without the keys that the old one does not have.

    The causes for which a table is locked were one text, and are a list.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return {
            key: ", ".join(value)
            if key == "locked" and isinstance(old[key], str)
            else common_part(old[key], value)
            for key, value in new.items()
            if key in old
        }
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [common_part(*pair) for pair in zip(old, new, strict=True)]
    return new
