"""Database code that the log and the identity store share, for SQLite and PostgreSQL.

`urls` (which database a URL names) -> `schema` (its tables, their version, and migrations) ->
`sqlite_file` (which file is open, and the lock of its writers) -> `sqlite` and `postgres`
(connections, transactions, deadlines, retries and errors).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from threedice.extras import require_extra

require_extra("house", "running a house")

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
    """The ordinary connections to a database; all methods are thread-safe."""

    name: str

    @property
    def failure(self) -> str:
        """Why nothing is written any more, after a failed write; empty if nothing has failed."""

    def query(self, sql: str, params: Sequence[Any] = ()) -> list[SqlRow]:
        """Run a read-only statement, concurrently with writes, and return its rows."""

    def transact(
        self,
        work: TransactionBody[Result],
        *,
        durable: bool = True,
        even_if_failed: bool = False,
        is_long: bool = False,
    ) -> Result:
        """Run some work in one transaction, rolled back if it raises.

        Without `durable` a power cut may undo it. With `even_if_failed` it also runs after an
        earlier write has failed. With `is_long` it has as much time as a migration.
        """

    def check_storage(self) -> None:
        """Raise `StoreFailed` if what is written would be lost, as far as this can be seen."""

    def erase_traces(self) -> None:
        """Remove what was deleted or replaced from the files too, where the database allows it."""

    def close(self) -> None:
        """Close all connections."""
