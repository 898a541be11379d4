"""The tables of the log, defined once for both databases, and their version.

A database carries the version of its tables. Opening it makes the tables where there are none,
brings older ones to the present version, and refuses what is newer or somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    REAL,
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.schema import CreateIndex, CreateTable

from threedice.errors import StoreUnusable

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

ExecuteStatement = Callable[[str], Iterable[tuple[Any, ...]]]
"""Runs a statement within the transaction that opens a database, and returns its rows."""

Migration = Callable[[ExecuteStatement], None]
"""Changes the tables of one version into those of the next."""

SCHEMA_VERSION: Final = 1
MIGRATIONS: Final[Mapping[int, Migration]] = {}
"""By the version they start from; each runs in the one transaction that opens the database."""

PROGRAM_NAME: Final = "threedice"
_VERSION_PATTERN: Final = re.compile(r"[0-9]{1,9}")

# Names compare as their bytes do in both databases, so that both sort them as Python does.
NAME_TYPE = Text(collation="C").with_variant(Text(), "sqlite")
BYTES_TYPE = LargeBinary()
INTEGER_TYPE = BigInteger().with_variant(Integer(), "sqlite")
TIME_TYPE: TypeEngine[float] = Double().with_variant(REAL(), "sqlite")

metadata = MetaData()


def _table(name: str, *columns: Column[Any] | Index) -> Table:
    """Define a table none of whose columns may be empty."""
    for column in columns:
        if isinstance(column, Column):
            column.nullable = False
    return Table(name, metadata, *columns)


streams = _table(
    "streams",
    Column("stream", NAME_TYPE, primary_key=True),
    Column("version", INTEGER_TYPE),
    Column("hash", BYTES_TYPE),
)

# Measured: without rowid (the entries in the order of their streams) a batch that concerns many
# streams changes more pages and takes twice as long.
entries = _table(
    "entries",
    Column("stream", NAME_TYPE, primary_key=True),
    Column("version", INTEGER_TYPE, primary_key=True, autoincrement=False),
    Column("at", INTEGER_TYPE),
    Column("kind", NAME_TYPE),
    Column("schema", Integer),
    Column("data", BYTES_TYPE),
    Column("cause", BYTES_TYPE),
    Column("hash", BYTES_TYPE),
)

answers = _table(
    "answers",
    Column("account", NAME_TYPE, primary_key=True),
    Column("key", NAME_TYPE, primary_key=True),
    Column("command_hash", BYTES_TYPE),
    Column("spans", BYTES_TYPE),
)

games = _table(
    "games", Column("hash", NAME_TYPE, primary_key=True), Column("canonical", BYTES_TYPE)
)

snapshots = _table(
    "snapshots",
    Column("stream", NAME_TYPE, primary_key=True),
    Column("name", NAME_TYPE, primary_key=True),
    Column("form", NAME_TYPE),
    Column("version", INTEGER_TYPE),
    Column("hash", BYTES_TYPE),
    Column("data", BYTES_TYPE),
)

lines = _table(
    "lines",
    Column("view", NAME_TYPE, primary_key=True),
    Column("subject", NAME_TYPE),
    Column("stream", NAME_TYPE, primary_key=True),
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
    Column("view", NAME_TYPE, primary_key=True),
    Column("stream", NAME_TYPE, primary_key=True),
    Column("version", INTEGER_TYPE),
)

checkpoints = _table(
    "checkpoints",
    Column("number", INTEGER_TYPE, primary_key=True, autoincrement=False),
    Column("body", BYTES_TYPE),
    Column("key_id", NAME_TYPE),
    Column("signature", BYTES_TYPE),
)

leases = _table(
    "leases",
    Column("name", NAME_TYPE, primary_key=True),
    Column("holder", NAME_TYPE),
    Column("until", TIME_TYPE),
)

people = _table("people", Column("player", NAME_TYPE, primary_key=True), Column("data", BYTES_TYPE))

meta = _table("meta", Column("name", NAME_TYPE, primary_key=True), Column("value", NAME_TYPE))


IDENTITY_TABLE_PREFIX = "people_"
"""How the names of tables begin that are in the same database and not the log's."""


def prepare_schema(
    execute: ExecuteStatement,
    existing_tables: Iterable[str],
    *,
    dialect: str,
    database: str,
    version: int = SCHEMA_VERSION,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> None:
    """Make the tables, or bring those found to this version, within a transaction already begun."""
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
    """Return the statements that make all tables and their indexes; SQLite's keep to their types.

    >>> creation_statements("sqlite")[3].split()[:4], creation_statements("sqlite")[3].split()[-1]
    (['CREATE', 'TABLE', 'games', '('], 'STRICT')
    """
    known = make_url(f"{dialect}://").get_dialect()()
    strict = " STRICT" if dialect == "sqlite" else ""
    made = []
    for table in metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=known)).strip() + strict)
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        made += [str(CreateIndex(index).compile(dialect=known)) for index in indexes]
    return made


def read_schema_version(
    execute: ExecuteStatement, tables: set[str], database: str, version: int = SCHEMA_VERSION
) -> int:
    """Return the version of the tables there are; refuse what is newer or somebody else's."""
    own = "give it a new file or an empty database of its own"
    if not tables:
        raise StoreUnusable(f"{database} holds no tables; is it the file of a house?")
    if not {"meta", "streams", "entries"} <= tables:
        raise StoreUnusable(f"{database} holds tables of something else; {own}")
    marks: dict[str, Any] = dict(
        execute("SELECT name, value FROM meta WHERE name IN ('program', 'schema')")
    )
    mark = marks.get("schema")
    if (
        marks.get("program") != PROGRAM_NAME
        or not isinstance(mark, str)
        or not _VERSION_PATTERN.fullmatch(mark)
    ):
        raise StoreUnusable(f"{database} is not a database of this program; {own}")
    if (stored := int(mark)) > version:
        raise StoreUnusable(
            f"{database} has tables of version {stored}, this program knows version {version}; "
            "use the newer program that made them, or restore a backup made before it"
        )
    return stored
