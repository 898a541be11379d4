"""Open the store that a URL names, and locate the state directory that belongs to it.

The state directory holds keys, checkpoint files and markers, which must not be in the database.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import psycopg
from platformdirs import user_data_path
from psycopg.conninfo import conninfo_to_dict

from threedice.db.urls import MEMORY_URL, SQLITE_PREFIX, find_sqlite_path, is_postgres_url
from threedice.errors import InvalidInput, MissingTables, StoreUnusable
from threedice.log.stores.files import was_served
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from threedice.db.schema import TablePolicy
    from threedice.log.store import Store

RESTORE_MARK: Final = "restoring"
"""The file in the state directory while a restore is in progress, and after an interrupted one."""


def open_store(
    url: str,
    *,
    serving: bool = False,
    tables: TablePolicy | None = None,
    read_only: bool = False,
) -> Store:
    """Open the store that a URL names.

    Unless `tables` says otherwise, a serving store migrates its tables, and another one creates
    them if it has none. With `read_only` nothing is written, so that the file of a database may be
    on read-only media.
    """
    if url == MEMORY_URL:
        return MemoryStore()
    if (path := sqlite_path(url)) is None:
        _parse_postgres_url(url)
        return PostgresStore(url, serving=serving, tables="read" if read_only else tables)
    if path == sqlite_path(default_url()) and not read_only:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SqliteStore(path, serving=serving, tables=tables, read_only=read_only)


def database_exists(url: str) -> bool:
    """Return whether there is a database to open.

    Always true for a database on a server, which reports a missing one itself. An empty file does
    not count: it holds no house, or has lost it.
    """
    path = sqlite_path(url)
    return path is None or (path.exists() and (path.is_dir() or path.stat().st_size > 0))


def refuse_interrupted_restore(url: str, state_dir: Path | None = None) -> None:
    """Refuse to use what an interrupted restore has left."""
    if url != MEMORY_URL and (mark := (state_dir or state_directory(url)) / RESTORE_MARK).exists():
        raise StoreUnusable(
            "a restore was interrupted here; run the same threedice restore command again"
            f" ({mark} marks it)"
        )


def refuse_lost_database(url: str, state_dir: Path) -> None:
    """Refuse to create a new database where a house was served, or a restore interrupted."""
    refuse_interrupted_restore(url, state_dir)
    if not was_served(state_dir):
        return
    remedy = (
        "restore a backup with threedice restore. To begin a new house, move that directory away"
        " first"
    )
    if not database_exists(url):
        raise StoreUnusable(
            f"the database at {url} is missing, but {state_dir} belongs to a house that was served"
            f" there; put its file back, or {remedy}"
        )
    try:
        if is_postgres_url(url):
            open_store(url, read_only=True).close()
    except MissingTables as error:
        raise StoreUnusable(
            f"{error} {state_dir} belongs to a house that was served there; {remedy}"
        ) from error


def sqlite_path(url: str) -> Path | None:
    """Return the path of the SQLite file that a URL names, or None for other stores.

    >>> sqlite_path("sqlite:///floor/house.sqlite").as_posix(), sqlite_path("postgresql://localhost/house")
    ('floor/house.sqlite', None)
    """
    if url == MEMORY_URL or is_postgres_url(url):
        return None
    if (path := find_sqlite_path(url)) is None:
        raise InvalidInput(
            f"{url.rpartition('@')[2]!r} names no database; write sqlite:///PATH, "
            f"postgresql://USER@HOST/DATABASE, {MEMORY_URL} or the path of a file"
        )
    return Path(path)


def default_url() -> str:
    """Return the URL of the database that is used when none is given."""
    return f"{SQLITE_PREFIX}{user_data_path('threedice') / 'house.sqlite'}"


def state_directory(url: str) -> Path:
    """Return the directory for the keys, checkpoint files and markers of a database.

    The directory may not exist yet.

    >>> state_directory("sqlite:///floor/house.sqlite").as_posix()
    'floor/house.sqlite.state'
    """
    if url == MEMORY_URL:
        raise InvalidInput(
            "a store in memory has no state directory; use an SQLite file or PostgreSQL"
        )
    if (path := sqlite_path(url)) is None:
        parts = _parse_postgres_url(url)
        location = (parts.get("host") or "localhost", parts.get("port") or "5432", parts["dbname"])
        return user_data_path("threedice") / ",".join(
            quote(str(part), safe="") for part in location
        )
    if path.is_symlink():
        path = path.resolve()  # one house, one key, whichever link opens it
    return path.with_name(path.name + ".state")


def _parse_postgres_url(url: str) -> dict[str, str]:
    """Return the parts of a PostgreSQL URL; errors do not quote it, as it may hold a password."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value}
    except psycopg.ProgrammingError:
        parts = {}
    if not parts.get("dbname"):
        raise InvalidInput(
            "this PostgreSQL URL names no database; write postgresql://USER@HOST:PORT/DATABASE"
        )
    return parts
