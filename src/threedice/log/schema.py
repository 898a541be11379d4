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

from threedice.errors import StoreUnfit

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

Execute = Callable[[str], Iterable[tuple[Any, ...]]]
"""Runs a statement within the transaction that opens a database, and returns its rows."""

Migration = Callable[[Execute], None]
"""Changes the tables of one version into those of the next."""

VERSION: Final = 1
MIGRATIONS: Final[Mapping[int, Migration]] = {}
"""By the version they start from; each runs in the one transaction that opens the database."""

PROGRAM: Final = "threedice"
_VERSION: Final = re.compile(r"[0-9]{1,9}")

# Names compare as their bytes do in both databases, so that both sort them as Python does.
NAME = Text(collation="C").with_variant(Text(), "sqlite")
BYTES = LargeBinary()
NUMBER = BigInteger().with_variant(Integer(), "sqlite")
TIME: TypeEngine[float] = Double().with_variant(REAL(), "sqlite")

metadata = MetaData()


def _table(name: str, *columns: Column[Any] | Index) -> Table:
    """Define a table none of whose columns may be empty."""
    for column in columns:
        if isinstance(column, Column):
            column.nullable = False
    return Table(name, metadata, *columns)


streams = _table(
    "streams",
    Column("stream", NAME, primary_key=True),
    Column("version", NUMBER),
    Column("hash", BYTES),
)

# Measured: without rowid (the entries in the order of their streams) a batch that concerns many
# streams changes more pages and takes twice as long.
entries = _table(
    "entries",
    Column("stream", NAME, primary_key=True),
    Column("version", NUMBER, primary_key=True, autoincrement=False),
    Column("at", NUMBER),
    Column("kind", NAME),
    Column("schema", Integer),
    Column("data", BYTES),
    Column("cause", BYTES),
    Column("hash", BYTES),
)

answers = _table(
    "answers",
    Column("account", NAME, primary_key=True),
    Column("key", NAME, primary_key=True),
    Column("command_hash", BYTES),
    Column("spans", BYTES),
)

games = _table("games", Column("hash", NAME, primary_key=True), Column("canonical", BYTES))

snapshots = _table(
    "snapshots",
    Column("stream", NAME, primary_key=True),
    Column("name", NAME, primary_key=True),
    Column("form", NAME),
    Column("version", NUMBER),
    Column("hash", BYTES),
    Column("data", BYTES),
)

lines = _table(
    "lines",
    Column("view", NAME, primary_key=True),
    Column("subject", NAME),
    Column("stream", NAME, primary_key=True),
    Column("version", NUMBER, primary_key=True, autoincrement=False),
    Column("place", NUMBER, primary_key=True, autoincrement=False),
    Column("at", NUMBER),
    Column("data", BYTES),
    Index("lines_by_time", "view", "at"),
    Index("lines_by_subject", "view", "subject", "at"),
    Index("lines_by_stream", "view", "stream", "at"),
)

views = _table(
    "views",
    Column("view", NAME, primary_key=True),
    Column("stream", NAME, primary_key=True),
    Column("version", NUMBER),
)

checkpoints = _table(
    "checkpoints",
    Column("number", NUMBER, primary_key=True, autoincrement=False),
    Column("body", BYTES),
    Column("key_id", NAME),
    Column("signature", BYTES),
)

leases = _table(
    "leases", Column("name", NAME, primary_key=True), Column("holder", NAME), Column("until", TIME)
)

people = _table("people", Column("player", NAME, primary_key=True), Column("data", BYTES))

meta = _table("meta", Column("name", NAME, primary_key=True), Column("value", NAME))


OTHERS = "people_"
"""How the names of tables begin that are in the same database and not the log's."""


def prepare(
    execute: Execute,
    found: Iterable[str],
    *,
    dialect: str,
    where: str,
    version: int = VERSION,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> None:
    """Make the tables, or bring those found to this version, within a transaction already begun."""
    tables = {name for name in found if not name.startswith(OTHERS)}
    if not tables:
        for statement in creation(dialect):
            execute(statement)
        execute(f"INSERT INTO meta (name, value) VALUES ('program', '{PROGRAM}')")
        execute(f"INSERT INTO meta (name, value) VALUES ('schema', '{version}')")
        return
    for step in range(stored_version(execute, tables, where, version), version):
        migrations[step](execute)
        execute(f"UPDATE meta SET value = '{step + 1}' WHERE name = 'schema'")


def creation(dialect: str) -> list[str]:
    """Return the statements that make all tables and their indexes; SQLite's keep to their types.

    >>> creation("sqlite")[3].split()[:4], creation("sqlite")[3].split()[-1]
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


def stored_version(execute: Execute, tables: set[str], where: str, version: int = VERSION) -> int:
    """Return the version of the tables there are; refuse what is newer or somebody else's."""
    own = "give it a new file or an empty database of its own"
    if not tables:
        raise StoreUnfit(f"{where} holds no tables; is it the file of a house?")
    if not {"meta", "streams", "entries"} <= tables:
        raise StoreUnfit(f"{where} holds tables of something else; {own}")
    marks: dict[str, Any] = dict(
        execute("SELECT name, value FROM meta WHERE name IN ('program', 'schema')")
    )
    mark = marks.get("schema")
    if marks.get("program") != PROGRAM or not isinstance(mark, str) or not _VERSION.fullmatch(mark):
        raise StoreUnfit(f"{where} is not a database of this program; {own}")
    if (stored := int(mark)) > version:
        raise StoreUnfit(
            f"{where} has tables of version {stored}, this program knows version {version}; "
            "use the newer program that made them, or restore a backup made before it"
        )
    return stored
