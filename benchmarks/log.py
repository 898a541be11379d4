"""How many bets a floor acknowledges in a second, against the raw driver writing the same rows.

Run it with `python benchmarks/log.py`. 256 callers bet at once through `floor.handle`; the
reference is one thread that commits the very same rows (entries, answers, heads, with their
indexes) in batches of the same size with the bare driver, by whichever of its ways is quickest.
Ratios of one run count, not the times.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import psycopg

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a file, it is in no package

from tests.log.postgres_server import running

from threedice import load
from threedice.floor import Floor
from threedice.floor.collecting import collecting_seldom
from threedice.floor.commands import EstablishTable
from threedice.log.opening import open_store
from threedice.table import commands as asked
from threedice.table.commands import Actor
from threedice.table.terms import plain_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from threedice.floor.commands import AnyFloorCommand
    from threedice.log.entry import Entry
    from threedice.log.store import Store

GAME = "sg-rws-tai-sai-v6/a"
CALLERS = 256
BETS = 40_000
DEALER = Actor(id="dealer", role="dealer")
SUPERVISOR = Actor(id="supervisor", role="supervisor")


async def set_up(floor: Floor, tables: int) -> None:
    """Open tables with betting open and every caller seated at each."""
    game = load(GAME)
    for table in map(str, range(tables)):
        steps: list[AnyFloorCommand] = [
            EstablishTable(by=SUPERVISOR, game=GAME),
            asked.OpenTable(
                by=SUPERVISOR, table=table, currency="SGD", mode="record", chips=[5, 25, 100],
                float_amount=10**12, limits=plain_limits(game, 5, 10**12, 10**12),
            ),
            asked.OpenBetting(by=DEALER),
        ]  # fmt: skip
        seats = [
            asked.BuyIn(by=Actor(id=f"p{i}", role="player"), player=f"p{i}", amount=10**9)
            for i in range(CALLERS)
        ]
        for number, step in enumerate(steps):
            await floor.handle(step, table=table, account="staff", key=f"{table} {number}")
        await asyncio.gather(
            *(
                floor.handle(each, table=table, account=each.player, key=f"in {table}")
                for each in seats
            )
        )


async def bet(floor: Floor, tables: int, bets: int, name: str) -> tuple[float, list[float]]:
    """Have every caller bet one after the other; return the time, and each bet's."""
    latencies: list[float] = []

    async def caller(i: int) -> None:
        player = Actor(id=f"p{i}", role="player")
        command = asked.PlaceBet(by=player, player=player.id, box="big", amount=5)
        for j in range(bets // CALLERS):
            asked_at = perf_counter()
            await floor.handle(
                command, table=str((i + j) % tables), account=player.id, key=f"{name} {j}"
            )
            latencies.append(perf_counter() - asked_at)

    started = perf_counter()
    await asyncio.gather(*(caller(i) for i in range(CALLERS)))
    return perf_counter() - started, latencies


async def measured(
    store: Store, tables: int, bets: int = BETS
) -> tuple[float, float, float, list[Entry]]:
    """Return bets a second, the 99th percentile, the mean batch, and what was written."""
    async with Floor(store) as floor:
        await set_up(floor, tables)
        heads = store.heads()
        before = floor.streams.writer.counts()
        seconds, latencies = await bet(floor, tables, bets, "b")
        after = floor.streams.writer.counts()
    batch = (after.accepted - before.accepted) / (after.batches - before.batches)
    written = [
        entry for stream, head in heads.items() for entry in store.scan(stream, head.version)
    ]
    latencies.sort()
    return len(latencies) / seconds, latencies[len(latencies) * 99 // 100], batch, written


# --- the reference ------------------------------------------------------------------------------

ENTRIES = "INSERT INTO entries (stream, version, at, kind, schema, data, cause, hash) VALUES "
ANSWERS = "INSERT INTO answers (account, key, command_hash, spans) VALUES "
HEADS = "UPDATE streams SET version = {0}, hash = {0} WHERE stream = {0}"


def batches(
    entries: Sequence[Entry], size: int
) -> Iterator[tuple[list[Any], list[Any], list[Any]]]:
    """Yield the rows of entries, their answers and their heads, a batch at a time."""
    for start in range(0, len(entries), size):
        some = entries[start : start + size]
        rows = [
            (e.stream, e.version, e.at, e.kind, e.schema, e.data, e.cause, e.hash) for e in some
        ]
        answers = [
            (
                f"p{i % CALLERS}",
                f"raw {start + i}",
                e.hash,
                b'[["%b",%d,%d]]' % (e.stream.encode(), e.version, e.version),
            )
            for i, e in enumerate(some)
        ]
        heads = {e.stream: (e.version, e.hash, e.stream) for e in some}
        yield rows, answers, list(heads.values())


def raw_sqlite(path: Path, entries: Sequence[Entry], size: int) -> float:
    """Write entries with the bare driver; return how many a second."""
    open_store(f"sqlite:///{path}").close()
    places = "(" + ", ".join("?" * 8) + ")"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        _seed(
            lambda stream: connection.execute(
                "INSERT INTO streams VALUES (?, 0, ?)", (stream, bytes(32))
            ),
            entries,
        )
        started = perf_counter()
        for rows, answers, heads in batches(entries, size):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(ENTRIES + places, rows)
            connection.executemany(ANSWERS + "(?, ?, ?, ?)", answers)
            connection.executemany(HEADS.format("?"), heads)
            connection.execute("COMMIT")
        return len(entries) / (perf_counter() - started)


def raw_postgres(url: str, entries: Sequence[Entry], size: int) -> float:
    """Write entries with the bare driver, by the quicker of two ways; return how many a second."""
    open_store(url).close()
    best = 0.0
    with psycopg.connect(url) as connection:
        connection.execute("SET synchronous_commit = on")
        _seed(
            lambda stream: connection.execute(
                "INSERT INTO streams VALUES (%s, 0, %s)", (stream, bytes(32))
            ),
            entries,
        )
        connection.commit()
        for write in (_many, _unnested):
            connection.execute("TRUNCATE entries, answers")
            connection.commit()
            started = perf_counter()
            for rows, answers, heads in batches(entries, size):
                write(connection, rows, answers)
                connection.cursor().executemany(HEADS.format("%s"), heads)
                connection.commit()
            best = max(best, len(entries) / (perf_counter() - started))
    return best


def _many(connection: Any, rows: list[Any], answers: list[Any]) -> None:
    cursor = connection.cursor()
    cursor.executemany(ENTRIES + "(%s, %s, %s, %s, %s, %s, %s, %s)", rows)
    cursor.executemany(ANSWERS + "(%s, %s, %s, %s)", answers)


def _unnested(connection: Any, rows: list[Any], answers: list[Any]) -> None:
    types = [
        "text[]",
        "bigint[]",
        "bigint[]",
        "text[]",
        "integer[]",
        "bytea[]",
        "bytea[]",
        "bytea[]",
    ]
    selected = ", ".join(f"%s::{each}" for each in types)
    connection.execute(
        ENTRIES.replace("VALUES ", f"SELECT * FROM unnest({selected})"),
        [list(column) for column in zip(*rows, strict=True)],
    )
    connection.execute(
        ANSWERS.replace(
            "VALUES ", "SELECT * FROM unnest(%s::text[], %s::text[], %s::bytea[], %s::bytea[])"
        ),
        [list(column) for column in zip(*answers, strict=True)],
    )


def _seed(make: Callable[[str], object], entries: Sequence[Entry]) -> None:
    for stream in dict.fromkeys(entry.stream for entry in entries):
        make(stream)


# --- several servers ----------------------------------------------------------------------------


def serve(url: str, tables: int, bets: int, name: str, ready: Any, go: Any, told: Any) -> None:
    """Be one of two servers: bet when told to, and tell how long it took."""

    async def run() -> None:
        store = open_store(url, serving=True)
        try:
            async with Floor(store) as floor:
                for table in range(tables):
                    await floor.tended(str(table))
                ready.release()
                await asyncio.to_thread(go.wait)
                told.put(await bet(floor, tables, bets, name))
        finally:
            store.close()

    with collecting_seldom():
        asyncio.run(run())


def two_servers(url: str, tables: int, bets: int) -> float:
    """Return how many bets a second two servers on one database acknowledge together."""
    store = open_store(url)

    async def prepare() -> None:
        async with Floor(store) as floor:
            await set_up(floor, tables)

    asyncio.run(prepare())
    store.close()
    context = multiprocessing.get_context("spawn")
    ready, go, told = context.Semaphore(0), context.Event(), context.Queue()
    servers = [
        context.Process(target=serve, args=(url, tables, bets, name, ready, go, told))
        for name in ("one", "other")
    ]
    for server in servers:
        server.start()
    for _ in servers:
        ready.acquire()
    started = perf_counter()
    go.set()
    done = sum(len(told.get()[1]) for _ in servers)
    seconds = perf_counter() - started
    for server in servers:
        server.join()
    return done / seconds


COLUMNS = "{:<10} {:>6} {:>8} {:>7} {:>6} {:>8} {:>6}"


def main() -> None:
    """Print a table of what was measured."""
    print(COLUMNS.format("store", "tables", "bets/s", "p99 ms", "batch", "raw/s", "ratio"))
    with tempfile.TemporaryDirectory() as folder, running() as server:
        kinds = [(kind, tables) for kind in ("sqlite", "postgres") for tables in (1, 100)]
        for number, (kind, tables) in enumerate(kinds):
            path = Path(folder) / f"{number}.sqlite"
            url = f"sqlite:///{path}" if kind == "sqlite" else server.fresh()
            # as a house in service does
            with closing(open_store(url, serving=True)) as store, collecting_seldom():
                rate, p99, batch, written = asyncio.run(measured(store, tables))
            size = max(round(batch), 1)
            if kind == "sqlite":
                raw = raw_sqlite(Path(folder) / f"raw-{number}.sqlite", written, size)
            else:
                raw = raw_postgres(server.fresh(), written, size)
            figures = (f"{rate:.0f}", f"{p99 * 1000:.1f}", f"{batch:.0f}", f"{raw:.0f}")
            print(COLUMNS.format(kind, tables, *figures, f"{rate / raw:.2f}"))
        for tables, bets in ((1, 2_560), (100, 20_480)):
            together = two_servers(server.fresh(), tables, bets)
            print(f"postgres, two servers, {tables} tables: {together:.0f} bets/s together")


if __name__ == "__main__":
    main()
