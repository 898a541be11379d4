"""The identity database: transaction interface, tables and schema version.

There is one implementation for SQLite and one for PostgreSQL. In both, write transactions run one
at a time, across all processes: a transaction can check a rule and rely on it until the commit,
and numbers assigned in transactions are in commit order.

The tables are defined once for both databases. They can share a database with the log; their names
start with `people_`, and neither uses the tables of the other.
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
    """Function that runs a statement and returns its rows."""

    def __call__(self, sql: str, params: Sequence[Any] = (), /) -> list[SqlRow]:
        """Run a statement with `?` for each parameter."""


TransactionBody = Callable[[SqlRunner], Result]
"""Function that runs inside a transaction.

It may be run again on another connection, so it must have no other side effects.
"""


class Database(Protocol):
    """A database with the identity tables."""

    name: str

    def transact(self, work: TransactionBody[Result], *, durable: bool = True) -> Result:
        """Run a write transaction, one at a time; `durable` waits until it is on disk."""

    def query(self, sql: str, params: Sequence[Any] = ()) -> list[SqlRow]:
        """Run a read-only statement and return its rows."""

    def close(self) -> None:
        """Close all connections."""


SCHEMA_VERSION: Final = 1

MIGRATIONS: Final[Mapping[int, Callable[[SqlRunner], None]]] = {}
"""Migrations by the version they start from; all run in the transaction that opens the database."""

TABLE_PREFIX: Final = "people_"

# The C collation compares text by its bytes, as SQLite does.
TEXT = Text(collation="C").with_variant(Text(), "sqlite")
BYTES = LargeBinary()
NUMBER = BigInteger().with_variant(Integer(), "sqlite")

metadata = MetaData()


def _table(name: str, *columns: Column[Any] | Index) -> Table:
    """Define a table with NOT NULL columns only."""
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
    Column("first_until", NUMBER),  # expiry of a first password; 0: no first password
    Index("people_accounts_by_name", "name", unique=True),
)

codes_table = _table(
    "codes",
    Column("account", TEXT, primary_key=True),
    Column("secret", BYTES),  # encrypted; empty: no second factor
    Column("pending", BYTES),  # encrypted; empty: no enrolment in progress
    Column("step", NUMBER),  # TOTP step of the last accepted code
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
    Column("used", NUMBER),  # rounded down to the hour; 0: never
    Index("people_tokens_by_digest", "digest", unique=True),
    Index("people_tokens_by_account", "account"),
)

assignments_table = _table(
    "assignments",
    Column("id", TEXT, primary_key=True),
    Column("account", TEXT),
    Column("place", TEXT),  # a table's id; empty: all tables
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

# Security events are append-only. The database enforces it, in case this program has a defect.
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
    """Create the tables, or migrate existing ones to this version, in the open transaction."""
    if meta_table.name not in set(existing_tables):
        for statement in create_statements(dialect):
            run(statement)
        run("INSERT INTO people_meta (name, value) VALUES ('schema', ?)", (str(version),))
        return
    for step in range(_stored_version(run, database_name, version), version):
        migrations[step](run)
        run("UPDATE people_meta SET value = ? WHERE name = 'schema'", (str(step + 1),))


def create_statements(dialect: str) -> list[str]:
    """Return the statements that create all tables, indexes and triggers; STRICT in SQLite.

    >>> create_statements("sqlite")[0].split()[:3], create_statements("sqlite")[0].split()[-1]
    (['CREATE', 'TABLE', 'people_accounts'], 'STRICT')
    """
    engine_dialect = make_url(f"{dialect}://").get_dialect()()
    strict = " STRICT" if dialect == "sqlite" else ""
    statements = []
    for table in metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=engine_dialect)).strip() + strict)
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        statements += [str(CreateIndex(index).compile(dialect=engine_dialect)) for index in indexes]
    return [*statements, *_APPEND_ONLY_TRIGGERS[dialect]]


def _stored_version(run: SqlRunner, database_name: str, version: int) -> int:
    rows = run("SELECT value FROM people_meta WHERE name = 'schema'")
    stored = next((value for (value,) in rows if value.isdecimal()), None)
    if stored is None:
        raise StoreUnusable(f"{database_name} has identity tables that are not this program's")
    if int(stored) > version:
        raise StoreUnusable(
            f"{database_name} has identity tables of version {stored}, this program knows version "
            f"{version}; use the newer program that wrote them"
        )
    return int(stored)
