"""A store in memory, for tests and experiments."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from weakref import finalize

from threedice.db.sqlite import SqliteDatabase
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.sqlite_rows import SqliteRows
from threedice.runtime import SYSTEM_RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.log.stores.sql_rows import LogRows
    from threedice.runtime import Runtime


class MemoryStore(SqliteStore):
    """A store in an SQLite database in memory; leases expire by the clock of the runtime."""

    CLOCK_SQL: ClassVar[str] = "runtime_clock()"

    def __init__(self, runtime: Runtime = SYSTEM_RUNTIME) -> None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.create_function("runtime_clock", 0, runtime.monotonic)
        super().__init__(None, open_database=partial(SqliteDatabase, connect=lambda _: connection))
        self.connection = connection
        finalize(self, connection.close)

    @contextmanager
    def recovery_lock(self) -> Iterator[bool]:
        """Yield True: there is no other server."""
        yield True

    def is_sole_server(self) -> bool:
        """Return True: no other process can open this store."""
        return True

    def close(self) -> None:
        """Do nothing: the store lives as long as it is referenced."""

    @contextmanager
    def open_rows(self) -> Iterator[LogRows]:
        """Open the rows of a copy of the database."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            with self._database.file:
                self.connection.backup(copy)
            yield SqliteRows(copy)
