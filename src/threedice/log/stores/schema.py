"""Define the tables of the log once for both databases, and their version.

A database records the version of its tables. Opening it creates missing tables, migrates older
ones to the current version, and refuses newer or foreign ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import REAL, Column, Double, Index, Integer, MetaData, Table

from threedice.db.schema import BYTES_TYPE, INTEGER_TYPE, TEXT_TYPE, define_table, table_statements
from threedice.errors import StoreUnusable

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

ExecuteStatement = Callable[[str], Iterable[tuple[Any, ...]]]
"""Run a statement in the transaction that opens a database, and return its rows."""

Migration = Callable[[ExecuteStatement], None]
"""Migrate the tables from one version to the next."""

SCHEMA_VERSION: Final = 1
MIGRATIONS: Final[Mapping[int, Migration]] = {}
"""Migrations by the version they start from; all run in the transaction that opens the database."""

PROGRAM_NAME: Final = "threedice"
_VERSION_PATTERN: Final = re.compile(r"[0-9]{1,9}")

TIME_TYPE: TypeEngine[float] = Double().with_variant(REAL(), "sqlite")

metadata = MetaData()


def _table(name: str, *columns: Column[Any] | Index) -> Table:
    return define_table(name, metadata, *columns)


streams = _table(
    "streams",
    Column("stream", TEXT_TYPE, primary_key=True),
    Column("version", INTEGER_TYPE),
    Column("hash", BYTES_TYPE),
)

# Measured: WITHOUT ROWID (entries clustered by stream) makes a batch for many streams touch more
# pages and take twice as long.
entries = _table(
    "entries",
    Column("stream", TEXT_TYPE, primary_key=True),
    Column("version", INTEGER_TYPE, primary_key=True, autoincrement=False),
    Column("at", INTEGER_TYPE),
    Column("kind", TEXT_TYPE),
    Column("schema", Integer),
    Column("data", BYTES_TYPE),
    Column("cause", BYTES_TYPE),
    Column("hash", BYTES_TYPE),
)

answers = _table(
    "answers",
    Column("account", TEXT_TYPE, primary_key=True),
    Column("key", TEXT_TYPE, primary_key=True),
    Column("command_hash", BYTES_TYPE),
    Column("spans", BYTES_TYPE),
)

games = _table(
    "games", Column("hash", TEXT_TYPE, primary_key=True), Column("canonical", BYTES_TYPE)
)

snapshots = _table(
    "snapshots",
    Column("stream", TEXT_TYPE, primary_key=True),
    Column("name", TEXT_TYPE, primary_key=True),
    Column("form", TEXT_TYPE),
    Column("version", INTEGER_TYPE),
    Column("hash", BYTES_TYPE),
    Column("data", BYTES_TYPE),
)

lines = _table(
    "lines",
    Column("view", TEXT_TYPE, primary_key=True),
    Column("subject", TEXT_TYPE),
    Column("stream", TEXT_TYPE, primary_key=True),
    Column("version", INTEGER_TYPE, primary_key=True, autoincrement=False),
    Column("place", INTEGER_TYPE, primary_key=True, autoincrement=False),
    Column("at", INTEGER_TYPE),
    Column("data", BYTES_TYPE),
    Index("lines_by_time", "view", "at"),
    Index("lines_by_subject", "view", "subject", "at"),
    Index("lines_by_stream", "view", "stream", "at"),
)

views = _table(
    "views",
    Column("view", TEXT_TYPE, primary_key=True),
    Column("stream", TEXT_TYPE, primary_key=True),
    Column("version", INTEGER_TYPE),
)

checkpoints = _table(
    "checkpoints",
    Column("number", INTEGER_TYPE, primary_key=True, autoincrement=False),
    Column("body", BYTES_TYPE),
    Column("key_id", TEXT_TYPE),
    Column("signature", BYTES_TYPE),
)

leases = _table(
    "leases",
    Column("name", TEXT_TYPE, primary_key=True),
    Column("holder", TEXT_TYPE),
    Column("until", TIME_TYPE),
)

people = _table("people", Column("player", TEXT_TYPE, primary_key=True), Column("data", BYTES_TYPE))

meta = _table("meta", Column("name", TEXT_TYPE, primary_key=True), Column("value", TEXT_TYPE))

IDENTITY_TABLE_PREFIX = "people_"
"""Name prefix of the identity tables, which may be in the same database."""


def prepare_schema(
    execute: ExecuteStatement,
    existing_tables: Iterable[str],
    *,
    dialect: str,
    database: str,
    version: int = SCHEMA_VERSION,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> None:
    """Create the tables, or migrate existing ones to this version, in the current transaction."""
    tables = {name for name in existing_tables if not name.startswith(IDENTITY_TABLE_PREFIX)}
    if not tables:
        for statement in creation_statements(dialect):
            execute(statement)
        execute(f"INSERT INTO meta (name, value) VALUES ('program', '{PROGRAM_NAME}')")
        execute(f"INSERT INTO meta (name, value) VALUES ('schema', '{version}')")
        return
    for step in range(read_schema_version(execute, tables, database, version), version):
        migrations[step](execute)
        execute(f"UPDATE meta SET value = '{step + 1}' WHERE name = 'schema'")


def creation_statements(dialect: str) -> list[str]:
    """Return the statements that create all tables and indexes; SQLite tables are STRICT.

    >>> creation_statements("sqlite")[3].split()[:4], creation_statements("sqlite")[3].split()[-1]
    (['CREATE', 'TABLE', 'games', '('], 'STRICT')
    """
    return table_statements(metadata, dialect)


def read_schema_version(
    execute: ExecuteStatement, tables: set[str], database: str, version: int = SCHEMA_VERSION
) -> int:
    """Return the version of the existing tables; refuse newer or foreign ones."""
    advice = "give it a new file or an empty database of its own"
    if not tables:
        raise StoreUnusable(f"{database} holds no tables; is it the database of a house?")
    if not {"meta", "streams", "entries"} <= tables:
        raise StoreUnusable(f"{database} holds tables of another program; {advice}")
    meta_rows: dict[str, Any] = dict(
        execute("SELECT name, value FROM meta WHERE name IN ('program', 'schema')")
    )
    version_text = meta_rows.get("schema")
    if (
        meta_rows.get("program") != PROGRAM_NAME
        or not isinstance(version_text, str)
        or not _VERSION_PATTERN.fullmatch(version_text)
    ):
        raise StoreUnusable(f"{database} is not a database of this program; {advice}")
    if (stored := int(version_text)) > version:
        raise StoreUnusable(
            f"{database} has tables of version {stored}, this program knows version {version}; "
            "use the newer program that created them, or restore a backup made before it"
        )
    return stored
