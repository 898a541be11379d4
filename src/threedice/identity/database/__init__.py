"""The identity database: transaction interface, tables and schema version.

What the rules of people use of a database; there is one for SQLite and one for PostgreSQL.

Changes happen one at a time in either, across all processes: whoever changes something sees what
is true and stays true until it is done. Numbers given out in one are therefore in the order of
their commits.

The tables of people, defined once for both databases, and their version.

They lie beside those of the log and all begin with `people_`; neither knows of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.engine import make_url
from sqlalchemy.schema import CreateIndex, CreateTable

from threedice.errors import StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


SqlRow = tuple[Any, ...]


Result = TypeVar("Result")


class SqlRunner(Protocol):
    """Runs a statement with `?` for its values, and returns its rows."""

    def __call__(self, sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        """Run it."""


TransactionBody = Callable[[SqlRunner], Result]
"""Done within a transaction; it may be begun again, so it touches nothing else."""


class Database(Protocol):
    """Where people are kept."""

    name: str

    def transact(self, work: TransactionBody[Result], *, durable: bool = True) -> Result:
        """Do something in a transaction that no other is beside; `lasting` waits for the disk."""

    def query(self, sql: str, params: Sequence[Any] = ()) -> list[SqlRow]:
        """Return what is there."""

    def close(self) -> None:
        """Let go of the database."""


SCHEMA_VERSION: Final = 1


MIGRATIONS: Final[Mapping[int, Callable[[SqlRunner], None]]] = {}
"""By the version they start from; each runs in the one transaction that opens the database."""


TABLE_PREFIX: Final = "people_"


# Names compare as their bytes do in both databases.
TEXT = Text(collation="C").with_variant(Text(), "sqlite")


BYTES = LargeBinary()


NUMBER = BigInteger().with_variant(Integer(), "sqlite")


metadata = MetaData()


def _table(name: str, *columns: Column[Any] | Index) -> Table:
    """Define a table none of whose columns may be empty."""
    for column in columns:
        if isinstance(column, Column):
            column.nullable = False
    return Table(TABLE_PREFIX + name, metadata, *columns)


def _number_column() -> Column[int]:
    return Column("number", NUMBER, primary_key=True, autoincrement=False)


accounts_table = _table(
    "accounts",
    Column("id", TEXT, primary_key=True),
    Column("name", TEXT),
    Column("roles", TEXT),
    Column("enabled", Integer),
    Column("created", NUMBER),
    Column("password", TEXT),
    Column("first_until", NUMBER),  # 0, or until when the password may be used to choose another
    Index("people_accounts_by_name", "name", unique=True),
)


codes_table = _table(
    "codes",
    Column("account", TEXT, primary_key=True),
    Column("secret", BYTES),  # sealed; empty where none is in use
    Column("pending", BYTES),  # sealed; empty where none waits for its first code
    Column("step", NUMBER),  # of the last code that was accepted
)


recovery_table = _table(
    "recovery",
    Column("account", TEXT, primary_key=True),
    Column("mark", BYTES, primary_key=True),
)


sessions_table = _table(
    "sessions",
    Column("id", TEXT, primary_key=True),
    Column("digest", BYTES),
    Column("account", TEXT),
    Column("created", NUMBER),
    Column("seen", NUMBER),
    Column("ends", NUMBER),
    Column("locked", Integer),
    Index("people_sessions_by_digest", "digest", unique=True),
    Index("people_sessions_by_account", "account"),
)


tokens_table = _table(
    "tokens",
    Column("id", TEXT, primary_key=True),
    Column("digest", BYTES),
    Column("prefix", TEXT),
    Column("account", TEXT),
    Column("name", TEXT),
    Column("scopes", TEXT),
    Column("created", NUMBER),
    Column("expires", NUMBER),  # 0: never
    Column("used", NUMBER),  # to the hour; 0: never
    Index("people_tokens_by_digest", "digest", unique=True),
    Index("people_tokens_by_account", "account"),
)


assignments_table = _table(
    "assignments",
    Column("id", TEXT, primary_key=True),
    Column("account", TEXT),
    Column("place", TEXT),  # a table; empty: all
    Column("role", TEXT),
    Column("starts", NUMBER),
    Column("ends", NUMBER),
    Index("people_assignments_by_account", "account", "ends"),
    Index("people_assignments_by_end", "ends"),
)


attempts_table = _table(
    "attempts",
    Column("mark", BYTES, primary_key=True),
    Column("failures", NUMBER),
    Column("latest", NUMBER),
    Index("people_attempts_by_time", "latest"),
)


requests_table = _table(
    "requests",
    Column("id", TEXT, primary_key=True),
    Column("account", TEXT),
    Column("place", TEXT),
    Column("command", BYTES),
    Column("command_hash", BYTES),
    Column("reason", TEXT),
    Column("roles", TEXT),
    Column("opened", NUMBER),
    Column("expires", NUMBER),
    Column("state", TEXT),
    Column("decided_by", TEXT),
    Column("decided", NUMBER),
    Column("note", TEXT),
    Index("people_requests_by_state", "state", "expires"),
)


events_table = _table(
    "events",
    _number_column(),
    Column("at", NUMBER),
    Column("kind", TEXT),
    Column("account", TEXT),
    Column("actor", TEXT),
    Column("source", TEXT),
    Column("detail", TEXT),
)


changes_table = _table(
    "changes",
    _number_column(),
    Column("account", TEXT),
    Column("session", TEXT),
    Column("what", TEXT),
)


meta_table = _table("meta", Column("name", TEXT, primary_key=True), Column("value", TEXT))


# What happened is never written again; that this program does not try is not enough.
_APPEND_ONLY_TRIGGERS: Final[Mapping[str, tuple[str, ...]]] = {
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


def prepare_schema(
    run: SqlRunner,
    existing_tables: Iterable[str],
    *,
    dialect: str,
    database_name: str,
    version: int = SCHEMA_VERSION,
    migrations: Mapping[int, Callable[[SqlRunner], None]] = MIGRATIONS,
) -> None:
    """Make the tables, or bring those found to this version, within a transaction already begun."""
    if meta_table.name not in set(existing_tables):
        for statement in create_statements(dialect):
            run(statement)
        run("INSERT INTO people_meta (name, value) VALUES ('schema', ?)", (str(version),))
        return
    for step in range(_stored_version(run, database_name, version), version):
        migrations[step](run)
        run("UPDATE people_meta SET value = ? WHERE name = 'schema'", (str(step + 1),))


def create_statements(dialect: str) -> list[str]:
    """Return the statements that make all tables and their indexes; SQLite's keep to their types.

    >>> create_statements("sqlite")[0].split()[:3], create_statements("sqlite")[0].split()[-1]
    (['CREATE', 'TABLE', 'people_accounts'], 'STRICT')
    """
    known = make_url(f"{dialect}://").get_dialect()()
    strict = " STRICT" if dialect == "sqlite" else ""
    made = []
    for table in metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=known)).strip() + strict)
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        made += [str(CreateIndex(index).compile(dialect=known)) for index in indexes]
    return [*made, *_APPEND_ONLY_TRIGGERS[dialect]]


def _stored_version(run: SqlRunner, database_name: str, version: int) -> int:
    found = run("SELECT value FROM people_meta WHERE name = 'schema'")
    stored = next((value for (value,) in found if value.isdecimal()), None)
    if stored is None:
        raise StoreUnusable(f"{database_name} holds tables of people that are not this program's")
    if int(stored) > version:
        raise StoreUnusable(
            f"{database_name} has tables of people of version {stored}, this program knows version "
            f"{version}; use the newer program that made them"
        )
    return int(stored)
