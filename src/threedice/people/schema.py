"""The tables of people, defined once for both databases, and their version.

They lie beside those of the log and all begin with `people_`; neither knows of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.engine import make_url
from sqlalchemy.schema import CreateIndex, CreateTable

from threedice.errors import StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from threedice.people.database import Run

VERSION: Final = 1
MIGRATIONS: Final[Mapping[int, Callable[[Run], None]]] = {}
"""By the version they start from; each runs in the one transaction that opens the database."""

PREFIX: Final = "people_"

# Names compare as their bytes do in both databases.
NAME = Text(collation="C").with_variant(Text(), "sqlite")
BYTES = LargeBinary()
NUMBER = BigInteger().with_variant(Integer(), "sqlite")

metadata = MetaData()


def _table(name: str, *columns: Column[Any] | Index) -> Table:
    """Define a table none of whose columns may be empty."""
    for column in columns:
        if isinstance(column, Column):
            column.nullable = False
    return Table(PREFIX + name, metadata, *columns)


def _numbered() -> Column[int]:
    return Column("number", NUMBER, primary_key=True, autoincrement=False)


accounts = _table(
    "accounts",
    Column("id", NAME, primary_key=True),
    Column("name", NAME),
    Column("roles", NAME),
    Column("enabled", Integer),
    Column("created", NUMBER),
    Column("password", NAME),
    Column("first_until", NUMBER),  # 0, or until when the password may be used to choose another
    Index("people_accounts_by_name", "name", unique=True),
)

codes = _table(
    "codes",
    Column("account", NAME, primary_key=True),
    Column("secret", BYTES),  # sealed; empty where none is in use
    Column("pending", BYTES),  # sealed; empty where none waits for its first code
    Column("step", NUMBER),  # of the last code that was accepted
)

recovery = _table(
    "recovery",
    Column("account", NAME, primary_key=True),
    Column("mark", BYTES, primary_key=True),
)

sessions = _table(
    "sessions",
    Column("id", NAME, primary_key=True),
    Column("digest", BYTES),
    Column("account", NAME),
    Column("created", NUMBER),
    Column("seen", NUMBER),
    Column("ends", NUMBER),
    Column("locked", Integer),
    Index("people_sessions_by_digest", "digest", unique=True),
    Index("people_sessions_by_account", "account"),
)

tokens = _table(
    "tokens",
    Column("id", NAME, primary_key=True),
    Column("digest", BYTES),
    Column("prefix", NAME),
    Column("account", NAME),
    Column("name", NAME),
    Column("scopes", NAME),
    Column("created", NUMBER),
    Column("expires", NUMBER),  # 0: never
    Column("used", NUMBER),  # to the hour; 0: never
    Index("people_tokens_by_digest", "digest", unique=True),
    Index("people_tokens_by_account", "account"),
)

assignments = _table(
    "assignments",
    Column("id", NAME, primary_key=True),
    Column("account", NAME),
    Column("place", NAME),  # a table; empty: all
    Column("role", NAME),
    Column("starts", NUMBER),
    Column("ends", NUMBER),
    Index("people_assignments_by_account", "account", "ends"),
    Index("people_assignments_by_end", "ends"),
)

attempts = _table(
    "attempts",
    Column("mark", BYTES, primary_key=True),
    Column("failures", NUMBER),
    Column("latest", NUMBER),
    Index("people_attempts_by_time", "latest"),
)

requests = _table(
    "requests",
    Column("id", NAME, primary_key=True),
    Column("account", NAME),
    Column("place", NAME),
    Column("command", BYTES),
    Column("command_hash", BYTES),
    Column("reason", NAME),
    Column("roles", NAME),
    Column("opened", NUMBER),
    Column("expires", NUMBER),
    Column("state", NAME),
    Column("decided_by", NAME),
    Column("decided", NUMBER),
    Column("note", NAME),
    Index("people_requests_by_state", "state", "expires"),
)

events = _table(
    "events",
    _numbered(),
    Column("at", NUMBER),
    Column("kind", NAME),
    Column("account", NAME),
    Column("actor", NAME),
    Column("source", NAME),
    Column("detail", NAME),
)

changes = _table(
    "changes",
    _numbered(),
    Column("account", NAME),
    Column("session", NAME),
    Column("what", NAME),
)

meta = _table("meta", Column("name", NAME, primary_key=True), Column("value", NAME))

# What happened is never written again; that this program does not try is not enough.
_APPEND_ONLY: Final[Mapping[str, tuple[str, ...]]] = {
    "sqlite": tuple(
        f"CREATE TRIGGER people_events_no_{verb.lower()} BEFORE {verb} ON people_events"
        " BEGIN SELECT RAISE(ABORT, 'security events are only added'); END"
        for verb in ("UPDATE", "DELETE")
    ),
    "postgresql": (
        "CREATE FUNCTION people_events_stay() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'security events are only added'; END $$",
        "CREATE TRIGGER people_events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON people_events"
        " FOR EACH STATEMENT EXECUTE FUNCTION people_events_stay()",
    ),
}


def prepare(
    run: Run,
    found: Iterable[str],
    *,
    dialect: str,
    where: str,
    version: int = VERSION,
    migrations: Mapping[int, Callable[[Run], None]] = MIGRATIONS,
) -> None:
    """Make the tables, or bring those found to this version, within a transaction already begun."""
    if meta.name not in set(found):
        for statement in creation(dialect):
            run(statement)
        run("INSERT INTO people_meta (name, value) VALUES ('schema', ?)", (str(version),))
        return
    for step in range(_stored(run, where, version), version):
        migrations[step](run)
        run("UPDATE people_meta SET value = ? WHERE name = 'schema'", (str(step + 1),))


def creation(dialect: str) -> list[str]:
    """Return the statements that make all tables and their indexes; SQLite's keep to their types.

    >>> creation("sqlite")[0].split()[:3], creation("sqlite")[0].split()[-1]
    (['CREATE', 'TABLE', 'people_accounts'], 'STRICT')
    """
    known = make_url(f"{dialect}://").get_dialect()()
    strict = " STRICT" if dialect == "sqlite" else ""
    made = []
    for table in metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=known)).strip() + strict)
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        made += [str(CreateIndex(index).compile(dialect=known)) for index in indexes]
    return [*made, *_APPEND_ONLY[dialect]]


def _stored(run: Run, where: str, version: int) -> int:
    found = run("SELECT value FROM people_meta WHERE name = 'schema'")
    stored = next((value for (value,) in found if value.isdecimal()), None)
    if stored is None:
        raise StoreUnfit(f"{where} holds tables of people that are not this program's")
    if int(stored) > version:
        raise StoreUnfit(
            f"{where} has tables of people of version {stored}, this program knows version "
            f"{version}; use the newer program that made them"
        )
    return int(stored)
