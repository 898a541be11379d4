"""Stores whose batches are written by a writer process, real or simulated."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, cast

import msgspec
import psycopg

from tests.log.proposing import PATIENCE
from threedice.log.conflicts import check_proposal
from threedice.log.store import Proposal
from threedice.log.stores.memory import MemoryStore
from threedice.log.stores.postgres import PostgresStore
from threedice.log.stores.schema import metadata
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.writer_process import WriterProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from threedice.log.store import ProposalOutcome, Store

Stored = SqliteStore | PostgresStore


class WithWriterProcess:
    """A store that passes everything on, and has a writer process or hides the one that it has."""

    def __init__(self, store: Store, writer_process: WriterProcess | None) -> None:
        self._store, self.writer_process = store, writer_process

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Dictated(WithWriterProcess):
    """A store whose `write` goes through its writer process, for whoever knows only stores."""

    def __init__(self, store: Stored) -> None:
        super().__init__(store, None)
        self._own = writer_process_of(store)

    def write(self, proposals: Sequence[Proposal]) -> list[ProposalOutcome]:
        for proposal in proposals:
            check_proposal(proposal)  # as the writer does
        return asyncio.run(self._own.write([self._own.encode_proposal(each) for each in proposals]))


@contextmanager
def dictated(store: Stored) -> Iterator[Store]:
    """Lend a store that writes through its writer process; empty it afterwards."""
    try:
        yield cast("Store", Dictated(store))
    finally:
        emptied = [f"DELETE FROM {name}" for name in metadata.tables if name != "meta"]
        with connection_to(store) as connection:
            for sql in (*emptied, "DELETE FROM meta WHERE name = 'suspended'"):
                connection.execute(sql)


@contextmanager
def connection_to(store: Stored) -> Iterator[sqlite3.Connection | psycopg.Connection[Any]]:
    """Connect to the database of a store, past the store itself."""
    if isinstance(store, PostgresStore):
        with psycopg.connect(store.url, autocommit=True) as connected:
            yield connected
    else:
        with closing(sqlite3.connect(store.path, isolation_level=None)) as opened:
            yield opened


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a database file for writing, so that a writer process with a batch waits."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def writer_process_of(store: Store) -> WriterProcess:
    assert store.writer_process is not None
    return store.writer_process


def pid_of(store: Store) -> int:
    pid = writer_process_of(store).pid
    assert pid is not None
    return pid


async def told(writer_process: WriterProcess, *proposals: Proposal) -> list[ProposalOutcome]:
    """Have a writer process write, as the writer does."""
    async with asyncio.timeout(PATIENCE):
        return await writer_process.write(
            [writer_process.encode_proposal(each) for each in proposals]
        )


def tell(store: Stored, *proposals: Proposal) -> list[ProposalOutcome]:
    return asyncio.run(told(writer_process_of(store), *proposals))


class Watched:
    """A process of anybody's, to see whether it has ended; its number may be given again then."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def has_ended(self, within: float = 0.0) -> bool:
        return bool(select.select([self._descriptor], [], [], within)[0])

    def wait(self) -> None:
        assert self.has_ended(PATIENCE), "a process that was to end goes on"


def kill(store: Stored) -> None:
    """Kill a writer process, and come back when it is dead."""
    with Watched(pid_of(store)) as writer_process:
        os.kill(pid_of(store), signal.SIGKILL)
        writer_process.wait()


# --- a writer process in this process -----------------------------------------------------------

_read = msgspec.msgpack.Decoder(Proposal).decode


class GatedWriterProcess(WriterProcess):
    """Writes to a store of this process: says when it begins, and ends when it is let.

    What it is told to fail with comes first, and then it has not written.
    """

    def __init__(self, *failures: Exception) -> None:
        self.store, self.failures = MemoryStore(), list(failures)
        self.begun = asyncio.Queue[int]()
        self.gate = asyncio.Semaphore(0)

    async def write(self, batch: Sequence[bytes]) -> list[ProposalOutcome]:
        self.begun.put_nowait(len(batch))
        async with asyncio.timeout(PATIENCE):
            await self.gate.acquire()
        if self.failures:
            raise self.failures.pop(0)
        return self.store.write([_read(each) for each in batch])

    def let(self, writes: int) -> None:
        for _ in range(writes):
            self.gate.release()

    async def size_of_next(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.begun.get()

    @property
    def stored(self) -> Store:
        """The store, as a writer takes it."""
        return cast("Store", WithWriterProcess(self.store, self))
