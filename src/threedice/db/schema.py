"""The tables of a database: numbered SQL files that create and migrate them, and their version.

The version also counts changes of the forms of stored bytes, which `tests/db/forms/0004.txt`
describes for version 4; such a migration may have no statement.

The log and the identity store may share a database, so there is one sequence of migrations for
both. `migrations/0002.sqlite.sql` is the second for SQLite. The table `schema_versions` records
which ones a database has. A database written before it existed has its version in `meta`, as does a
copy of the log without identity tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from threedice.errors import MissingTables, StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator

Dialect = Literal["sqlite", "postgresql"]

TablePolicy = Literal["migrate", "create", "require", "read"]
"""The permitted effects of opening a database on its tables.

`migrate`: create or migrate them (`threedice serve` and `threedice migrate`). `create`: create them
in an empty database. `require`: nothing; they must be those of this version. `read`: nothing; the
log of an older version will do.
"""

RunStatement = Callable[..., Iterable[tuple[Any, ...]]]
"""Run a statement in an open transaction, and return its rows."""

Definitions = dict[tuple[str, str], tuple[str, str]]
"""Definitions by name and kind: the table that each belongs to, and the definition itself."""

VERSION_TABLE: Final = "schema_versions"
IDENTITY_TABLE_PREFIX: Final = "people_"
"""Name prefix of the identity tables, which may be in the database of the log."""

PROGRAM_NAME: Final = "threedice"
OLDEST_READABLE_LOG: Final = 1
"""Oldest version whose log is read without migration.

Later versions only added columns to the log, which are read as empty (`schema.ADDED_COLUMNS`), and
forms of entries beside those that were there.
"""

SELECT_VERSION: Final = f"SELECT max(version) FROM {VERSION_TABLE}"
SELECT_TABLE_NAMES: Final[Mapping[Dialect, str]] = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()",
}
_VERSION_PATTERN: Final = re.compile(r"[1-9][0-9]{0,8}")
MIGRATIONS: Final = Path(__file__).parent / "migrations"
"""Folder of the SQL files."""


@cache
def load_migrations(dialect: Dialect) -> Mapping[int, Sequence[str]]:
    """Return the statements of each migration, by the version that it leads to.

    >>> load_migrations("sqlite")[1][1].split()[:6]
    ['CREATE', 'TABLE', 'IF', 'NOT', 'EXISTS', 'answers']
    """
    files = sorted(MIGRATIONS.glob(f"*.{dialect}.sql"))
    return {
        int(file.name.partition(".")[0]): [*split_statements(file.read_text(encoding="utf-8"))]
        for file in files
    }


def split_statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; each ends with a semicolon at the end of a line.

    Within a statement, a semicolon does not end a line.
    """
    statement = ""
    for line in script.splitlines(keepends=True):
        if statement or not line.startswith(("--", "\n")):
            statement += line
        if statement.endswith(";\n"):
            yield statement
            statement = ""


def prepare_tables(
    run: RunStatement,
    *,
    dialect: Dialect,
    database: str,
    policy: TablePolicy,
    needed: str = "streams",
    migrations: Mapping[int, Sequence[str]] | None = None,
) -> None:
    """Check the tables of a database in the open transaction; create or migrate them if allowed.

    `needed` is a table that the caller cannot do without. The log of an older database can be read
    without migration (`read`), but nothing can be written to it.
    """
    migrations = migrations or load_migrations(dialect)
    tables = {name for (name,) in run(SELECT_TABLE_NAMES[dialect])}
    stored, known = read_version(run, tables, database), max(migrations)
    if stored > known:
        raise StoreUnusable(describe_newer(database, stored, known))
    if policy in ("require", "read") and not stored:
        raise MissingTables(f"{database} holds no tables; is it the database of a house?")
    only_reads_log = policy == "read" and not needed.startswith(IDENTITY_TABLE_PREFIX)
    oldest = OLDEST_READABLE_LOG if only_reads_log else known
    if policy != "migrate" and stored and (stored < oldest or needed not in tables):
        raise StoreUnusable(
            f"{database} has tables of version {stored}, this program needs version {known}; "
            "stop the house, make a backup and run threedice migrate"
        )
    if policy in ("require", "read") or (policy == "create" and stored):
        return
    # The first migration leaves existing tables alone and adds the table of versions.
    applied = stored if VERSION_TABLE in tables else 0
    for version in range(applied + 1, known + 1):
        for statement in migrations[version]:
            run(statement)
        run(f"INSERT INTO {VERSION_TABLE} (version) VALUES (?)", (version,))


def read_version(run: RunStatement, tables: set[str], database: str) -> int:
    """Return the version of the tables, 0 if there are none; refuse those of another program."""
    if not tables:
        return 0
    marks: dict[str, Any] = {}
    if "meta" in tables:
        marks = dict(run("SELECT name, value FROM meta WHERE name IN ('program', 'schema')"))
        is_own = marks.get("program") == PROGRAM_NAME and {"streams", "entries"} <= tables
    else:
        is_own = "people_meta" in tables  # identity alone, without a log
        if is_own:
            marks = dict(run("SELECT name, value FROM people_meta WHERE name = 'schema'"))
    version: Any = marks.get("schema")
    if VERSION_TABLE in tables:
        ((version,),) = run(SELECT_VERSION)
    if not is_own or not _VERSION_PATTERN.fullmatch(str(version)):
        raise StoreUnusable(
            f"{database} holds tables of another program; give it a new file or an empty database "
            "of its own"
        )
    return int(version)


def describe_newer(database: str, stored: int, known: int) -> str:
    """Say that a database is newer than this program, and what to do."""
    return (
        f"{database} has tables of version {stored}, this program knows version {known}; "
        "use the newer program that wrote them, or restore a backup made before it"
    )
