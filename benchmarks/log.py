"""Measure the bets per second that a house acknowledges, against a bare driver writing the rows.

Run it with `python benchmarks/log.py`. 256 callers bet concurrently through
`CommandHandler.handle`; the reference is one thread that commits the same rows (entries, answers,
heads, with their indexes) to a database with the same past, in batches of the same size, with the
bare driver. The two alternate, slice by slice; the ratios of one run count, not the times.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent))  # when run as a file, this is in no package

from tests.log.postgres_server import running

from threedice import load
from threedice.house import CommandHandler
from threedice.house.commands import EstablishTable
from threedice.house.interpreter import serving_settings
from threedice.log.stores.urls import open_store
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from threedice.house.commands import AnyStreamCommand
    from threedice.log.entry import Entry, Head
    from threedice.log.store import Store

GAME = "sg-rws-tai-sai-v6/a"
CALLERS = 256
BETS = 10_240
SLICES = 9
DEALER = Actor(id="dealer", role="dealer")
SUPERVISOR = Actor(id="supervisor", role="supervisor")


async def set_up(handler: CommandHandler, tables: int) -> None:
    """Open tables with betting open and every caller seated at each."""
    game = load(GAME)
    for table in map(str, range(tables)):
        steps: list[AnyStreamCommand] = [
            EstablishTable(by=SUPERVISOR, game=GAME),
            commands.OpenTable(
                by=SUPERVISOR, table=table, currency="SGD", mode="record", chips=[5, 25, 100],
                float_amount=10**12, limits=uniform_limits(game, 5, 10**12, 10**12),
            ),
            commands.OpenBetting(by=DEALER),
        ]  # fmt: skip
        seats = [
            commands.BuyIn(by=Actor(id=f"p{i}", role="player"), player=f"p{i}", amount=10**9)
            for i in range(CALLERS)
        ]
        for number, step in enumerate(steps):
            await handler.handle(step, table=table, account="staff", key=f"{table} {number}")
        await asyncio.gather(
            *(
                handler.handle(each, table=table, account=each.player, key=f"in {table}")
                for each in seats
            )
        )


async def bet(
    handler: CommandHandler, tables: int, bets: int, name: str
) -> tuple[float, list[float]]:
    """Have every caller place its bets one by one; return the total time and each latency."""
    latencies: list[float] = []

    async def caller(i: int) -> None:
        player = Actor(id=f"p{i}", role="player")
        command = commands.PlaceBet(by=player, player=player.id, box="big", amount=5)
        for j in range(bets // CALLERS):
            started_at = perf_counter()
            await handler.handle(
                command, table=str((i + j) % tables), account=player.id, key=f"{name} {j}"
            )
            latencies.append(perf_counter() - started_at)

    started = perf_counter()
    await asyncio.gather(*(caller(i) for i in range(CALLERS)))
    return perf_counter() - started, latencies


class Slice(NamedTuple):
    """The rates for some bets, and for the bare driver writing the same rows right after."""

    rate: float
    raw: float
    p99: float
    batch: float


async def measure(store: Store, tables: int, raw: Raw) -> list[Slice]:
    """Measure slice by slice, so that other load on the machine affects both alike."""
    slices = []
    async with CommandHandler(store) as handler:
        counts = handler.streams.writer.counts
        await bet(handler, tables, CALLERS * tables, "warm")
        raw(_since(store, {}), 1000)
        for number in range(SLICES):
            heads, before = store.heads(), counts()
            seconds, latencies = await bet(handler, tables, BETS, f"b{number}")
            after = counts()
            batch = (after.accepted - before.accepted) / (after.batches - before.batches)
            latencies.sort()
            slices.append(
                Slice(
                    len(latencies) / seconds,
                    raw(_since(store, heads), max(round(batch), 1)),
                    latencies[len(latencies) * 99 // 100],
                    batch,
                )
            )
    return slices


def _since(store: Store, heads: Mapping[str, Head]) -> list[Entry]:
    return [
        entry
        for stream in store.streams()
        for entry in store.scan(stream, heads[stream].version if heads else 0)
    ]


# --- the reference ------------------------------------------------------------------------------

Raw = Callable[["Sequence[Entry]", int], float]
"""Write entries in batches of a size with a bare driver, and return the entries per second."""

ENTRIES = "INSERT INTO entries (stream, version, at, kind, schema, data, cause, hash) VALUES "
ANSWERS = "INSERT INTO answers (account, key, command_hash, spans) VALUES "
HEADS = (
    "INSERT INTO streams (version, hash, stream) VALUES ({0}, {0}, {0}) ON CONFLICT (stream)"
    " DO UPDATE SET version = excluded.version, hash = excluded.hash"
)


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
                e.hash.hex()[:12],
                e.hash,
                b'[["%b",%d,%d]]' % (e.stream.encode(), e.version, e.version),
            )
            for i, e in enumerate(some)
        ]
        heads = {e.stream: (e.version, e.hash, e.stream) for e in some}
        yield rows, answers, list(heads.values())


@contextmanager
def raw_sqlite(path: Path) -> Iterator[Raw]:
    """Yield a writer that uses the standard driver on a separate database."""
    open_store(f"sqlite:///{path}").close()
    places = "(" + ", ".join("?" * 8) + ")"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")

        def write(entries: Sequence[Entry], size: int) -> float:
            started = perf_counter()
            for rows, answers, heads in batches(entries, size):
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(ENTRIES + places, rows)
                connection.executemany(ANSWERS + "(?, ?, ?, ?)", answers)
                connection.executemany(HEADS.format("?"), heads)
                connection.execute("COMMIT")
            return len(entries) / (perf_counter() - started)

        yield write


@contextmanager
def raw_postgres(url: str) -> Iterator[Raw]:
    """Yield a writer that uses psycopg on a separate database, with array parameters (fastest)."""
    open_store(url).close()
    with psycopg.connect(url) as connection:
        connection.execute("SET synchronous_commit = on")

        def write(entries: Sequence[Entry], size: int) -> float:
            started = perf_counter()
            for rows, answers, heads in batches(entries, size):
                _insert_unnested(connection, rows, answers)
                connection.cursor().executemany(HEADS.format("%s"), heads)
                connection.commit()
            return len(entries) / (perf_counter() - started)

        yield write


def _insert_unnested(connection: Any, rows: list[Any], answers: list[Any]) -> None:
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


# --- several servers ----------------------------------------------------------------------------


def serve(url: str, tables: int, bets: int, name: str, ready: Any, go: Any, results: Any) -> None:
    """Run one of two servers: bet on the signal, and report how long it took."""

    async def run() -> None:
        store = open_store(url, serving=True)
        try:
            async with CommandHandler(store) as handler:
                for table in range(tables):
                    await handler.table(str(table))
                ready.release()
                await asyncio.to_thread(go.wait)
                results.put(await bet(handler, tables, bets, name))
        finally:
            store.close()

    with serving_settings():
        uvloop.run(run())


def two_servers(url: str, tables: int, bets: int) -> float:
    """Return the bets per second that two servers on one database acknowledge together."""
    store = open_store(url)

    async def prepare() -> None:
        async with CommandHandler(store) as handler:
            await set_up(handler, tables)

    uvloop.run(prepare())
    store.close()
    context = multiprocessing.get_context("spawn")
    ready, go, results = context.Semaphore(0), context.Event(), context.Queue()
    servers = [
        context.Process(target=serve, args=(url, tables, bets, name, ready, go, results))
        for name in ("one", "other")
    ]
    for server in servers:
        server.start()
    for _ in servers:
        ready.acquire()
    started = perf_counter()
    go.set()
    done = sum(len(results.get()[1]) for _ in servers)
    seconds = perf_counter() - started
    for server in servers:
        server.join()
    return done / seconds


COLUMNS = "{:<10} {:>6} {:>8} {:>7} {:>6} {:>8} {:>6} {:>12}"


def main() -> None:
    """Print a table of the measurements."""
    print(
        COLUMNS.format("store", "tables", "bets/s", "p99 ms", "batch", "raw/s", "ratio", "from, to")
    )
    with tempfile.TemporaryDirectory() as folder, running() as server:
        for number, tables in enumerate((1, 100)):
            file = Path(folder) / f"{number}.sqlite"
            with raw_sqlite(file.with_suffix(".raw")) as raw:
                show("sqlite", tables, f"sqlite:///{file}", raw)
        for tables in (1, 100):
            with raw_postgres(server.fresh()) as raw:
                show("postgres", tables, server.fresh(), raw)
        for tables, bets in ((1, 2_560), (100, 20_480)):
            together = two_servers(server.fresh(), tables, bets)
            print(f"postgres, two servers, {tables} tables: {together:.0f} bets/s together")


def show(kind: str, tables: int, url: str, raw: Raw) -> None:
    """Measure one store and print its row: medians, and the lowest and highest ratio."""

    async def run(store: Store) -> list[Slice]:
        async with CommandHandler(store) as handler:
            await set_up(handler, tables)
        return await measure(store, tables, raw)

    # the settings of a serving house
    with closing(open_store(url, serving=True)) as store, serving_settings():
        slices = uvloop.run(run(store))
    rate, bare, p99, batch = (median(each) for each in zip(*slices, strict=True))
    ratios = sorted(each.rate / each.raw for each in slices)
    figures = (f"{rate:.0f}", f"{p99 * 1000:.1f}", f"{batch:.0f}", f"{bare:.0f}")
    spread = f"{ratios[0]:.2f}, {ratios[-1]:.2f}"
    print(COLUMNS.format(kind, tables, *figures, f"{median(ratios):.2f}", spread))


if __name__ == "__main__":
    main()
