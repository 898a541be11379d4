"""The identity database: transaction interface, tables and schema version.

There is one implementation for SQLite and one for PostgreSQL. In both, write transactions run one
at a time, across all processes: a transaction can check a rule and rely on it until the commit,
and numbers assigned in transactions are in commit order.

The tables are defined once for both databases. They can share a database with the log; their names
start with `people_`, and neither uses the tables of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from sqlalchemy import Column, Index, Integer, MetaData, Table

from threedice.db import Result, SqlRow, SqlRunner
from threedice.db.schema import BYTES_TYPE, INTEGER_TYPE, TEXT_TYPE, define_table, table_statements
from threedice.errors import StoreUnusable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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

metadata = MetaData()


def _table(name: str, *columns: Column[Any] | Index) -> Table:
    return define_table(TABLE_PREFIX + name, metadata, *columns)


def _number_column() -> Column[int]:
    return Column("number", INTEGER_TYPE, primary_key=True, autoincrement=False)


accounts_table = _table(
    "accounts",
    Column("id", TEXT_TYPE, primary_key=True),
    Column("name", TEXT_TYPE),
    Column("roles", TEXT_TYPE),
    Column("enabled", Integer),
    Column("created", INTEGER_TYPE),
    Column("password", TEXT_TYPE),
    Column("first_until", INTEGER_TYPE),  # expiry of a first password; 0: no first password
    Index("people_accounts_by_name", "name", unique=True),
)

codes_table = _table(
    "codes",
    Column("account", TEXT_TYPE, primary_key=True),
    Column("secret", BYTES_TYPE),  # encrypted; empty: no second factor
    Column("pending", BYTES_TYPE),  # encrypted; empty: no enrolment in progress
    Column("step", INTEGER_TYPE),  # TOTP step of the last accepted code
)

recovery_table = _table(
    "recovery",
    Column("account", TEXT_TYPE, primary_key=True),
    Column("mark", BYTES_TYPE, primary_key=True),
)

sessions_table = _table(
    "sessions",
    Column("id", TEXT_TYPE, primary_key=True),
    Column("digest", BYTES_TYPE),
    Column("account", TEXT_TYPE),
    Column("created", INTEGER_TYPE),
    Column("seen", INTEGER_TYPE),
    Column("ends", INTEGER_TYPE),
    Column("locked", Integer),
    Index("people_sessions_by_digest", "digest", unique=True),
    Index("people_sessions_by_account", "account"),
)

tokens_table = _table(
    "tokens",
    Column("id", TEXT_TYPE, primary_key=True),
    Column("digest", BYTES_TYPE),
    Column("prefix", TEXT_TYPE),
    Column("account", TEXT_TYPE),
    Column("name", TEXT_TYPE),
    Column("scopes", TEXT_TYPE),
    Column("created", INTEGER_TYPE),
    Column("expires", INTEGER_TYPE),  # 0: never
    Column("used", INTEGER_TYPE),  # rounded down to the hour; 0: never
    Index("people_tokens_by_digest", "digest", unique=True),
    Index("people_tokens_by_account", "account"),
)

assignments_table = _table(
    "assignments",
    Column("id", TEXT_TYPE, primary_key=True),
    Column("account", TEXT_TYPE),
    Column("place", TEXT_TYPE),  # a table's id; empty: all tables
    Column("role", TEXT_TYPE),
    Column("starts", INTEGER_TYPE),
    Column("ends", INTEGER_TYPE),
    Index("people_assignments_by_account", "account", "ends"),
    Index("people_assignments_by_end", "ends"),
)

attempts_table = _table(
    "attempts",
    Column("mark", BYTES_TYPE, primary_key=True),
    Column("failures", INTEGER_TYPE),
    Column("latest", INTEGER_TYPE),
    Index("people_attempts_by_time", "latest"),
)

requests_table = _table(
    "requests",
    Column("id", TEXT_TYPE, primary_key=True),
    Column("account", TEXT_TYPE),
    Column("place", TEXT_TYPE),
    Column("command", BYTES_TYPE),
    Column("command_hash", BYTES_TYPE),
    Column("reason", TEXT_TYPE),
    Column("roles", TEXT_TYPE),
    Column("opened", INTEGER_TYPE),
    Column("expires", INTEGER_TYPE),
    Column("state", TEXT_TYPE),
    Column("decided_by", TEXT_TYPE),
    Column("decided", INTEGER_TYPE),
    Column("note", TEXT_TYPE),
    Index("people_requests_by_state", "state", "expires"),
)

events_table = _table(
    "events",
    _number_column(),
    Column("at", INTEGER_TYPE),
    Column("kind", TEXT_TYPE),
    Column("account", TEXT_TYPE),
    Column("actor", TEXT_TYPE),
    Column("source", TEXT_TYPE),
    Column("detail", TEXT_TYPE),
)

changes_table = _table(
    "changes",
    _number_column(),
    Column("account", TEXT_TYPE),
    Column("session", TEXT_TYPE),
    Column("what", TEXT_TYPE),
)

meta_table = _table("meta", Column("name", TEXT_TYPE, primary_key=True), Column("value", TEXT_TYPE))

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
    return [*table_statements(metadata, dialect), *_APPEND_ONLY_TRIGGERS[dialect]]


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
