"""Measure how fast a table with a million entries starts, and how fast a house is verified.

Run it with `python benchmarks/long_log.py [ENTRIES]`. The entries are those of ordinary rounds,
written to an SQLite file: of one table with a hundred players, and of a hundred tables with twenty
each. The one table is loaded with and without its snapshot, and each house is audited several
times: with the functions that `threedice log verify` uses, in this process and in one per core, and
by that command including its start. Each figure is printed with the time of a plain loop in the
same minutes: on a shared machine, the two rise and fall together.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from threedice import load
from threedice.cases.language import CaseContext
from threedice.cases.phrases import parse_line
from threedice.house import events as house_events
from threedice.house.audit.auditor import audit
from threedice.house.codec import encode
from threedice.house.live_stream import load_stream
from threedice.house.reports.statements import update_statements
from threedice.house.stream_state import GameRegistry
from threedice.log.entry import EMPTY_HEAD, extend_stream, hash_cause
from threedice.log.proof.checkpoints import CheckpointSigner
from threedice.log.proof.keys import open_keys
from threedice.log.proof.verification import verify_log
from threedice.log.records import Append, Proposal
from threedice.log.stores.sqlite import SqliteStore
from threedice.log.stores.sqlite_rows import open_house_file
from threedice.log.stores.urls import state_directory
from threedice.table import TableState, decide, evolve
from threedice.table.commands import Actor, BuyIn, OpenTable, PlaceBet
from threedice.table.limits import uniform_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from threedice.house.events import AnyStreamEvent
    from threedice.log.proof import VerificationReport
    from threedice.log.proof.keys import PublicKey
    from threedice.rulebook import Game

PLAYERS = [f"player-{i:04}" for i in range(100)]
RUNS = 5
BATCH = 1000
SUPERVISOR = Actor(id="supervisor", role="supervisor")


def commands(game: Game, table: str, players: Sequence[str]) -> Iterator[list[AnyStreamEvent]]:
    """Yield the events of each command of a long night at a table."""
    state = TableState()

    def execute(command: object) -> list[AnyStreamEvent]:
        events: list[AnyStreamEvent] = [*decide(game, state, command)]  # type: ignore[arg-type]
        for event in events:
            evolve(state, event)  # type: ignore[arg-type]
        return events

    yield [
        house_events.TableEstablished(
            table=table, game=game.id, game_hash=game.hash, dealt_by_house=None, by="supervisor"
        )
    ]
    limits = uniform_limits(game, 5, 10**9, 10**9)
    yield execute(
        OpenTable(by=SUPERVISOR, table=table, currency="SGD", mode="record", chips=[5, 25, 100],
                  float_amount=10**12, limits=limits)
    )  # fmt: skip
    actors = [Actor(id=player, role="player") for player in players]
    for actor in actors:
        yield execute(BuyIn(by=actor, player=actor.id, amount=10**9))
    boxes = ["big", "small", "total:9", "single:4", "domino:1-4"]
    for number in range(10**9):
        for line in ("open betting", "bets", f"dice 1 {number % 6 + 1} 4"):
            if line == "bets":
                for i, actor in enumerate(actors):
                    box = boxes[(i + number) % len(boxes)]
                    yield execute(PlaceBet(by=actor, player=actor.id, box=box, amount=5))
                continue
            for command in parse_line(line, CaseContext(game, state)):
                yield execute(command)


def write(store: SqliteStore, entries: int, tables: int, players: int) -> list[str]:
    """Write so many entries, one command per proposal, and return their streams.

    The table of each command is drawn at random, as bets come from all tables concurrently.
    """
    game, random = load("sg-rws-tai-sai-v6/a"), Random(1)
    streams = [f"table/{number}" for number in range(1, tables + 1)]
    nights = {
        stream: commands(game, stream.removeprefix("table/"), PLAYERS[:players])
        for stream in streams
    }
    heads, games, number = dict.fromkeys(streams, EMPTY_HEAD), {game.hash: game.canonical}, 0
    while sum(head.version for head in heads.values()) < entries:
        batch = list[Proposal]()
        for stream in random.choices(streams, k=BATCH):
            number += 1
            key, command_hash = f"key {number}", sha256(b"%d" % number).digest()
            cause = hash_cause("night", key, command_hash)
            fresh, after = extend_stream(
                heads[stream], stream, 10**15 + number, cause, map(encode, next(nights[stream]))
            )
            batch.append(
                Proposal("night", key, command_hash, (Append(stream, heads[stream], fresh),), games)
            )
            heads[stream], games = after, {}
        store.write(batch)
    return streams


def reference() -> float:
    """Return the milliseconds that a plain loop of a million iterations takes now."""
    started, total = perf_counter(), 0
    for number in range(1_000_000):
        total += number & 3
    return (perf_counter() - started) * 1000


def measure(label: str, verify: Callable[[], VerificationReport]) -> None:
    """Print the entries verified per second: the best and the median of all runs."""
    rates, loops = [], []
    for _ in range(RUNS):
        loops.append(reference())
        started = perf_counter()
        report = verify()
        rates.append(report.entries / (perf_counter() - started))
        if report.findings:
            sys.exit(f"{label}: {report.findings[0]}")
    print(f"{label}: {max(rates):.0f} entries/s at best, {median(rates):.0f} median of {RUNS}"
          f" (a loop of a million: {min(loops):.0f} ms at best, {median(loops):.0f})")  # fmt: skip


def verifier(
    file: Path, verify: Callable[..., VerificationReport], public_keys: Mapping[str, PublicKey]
) -> Callable[[], VerificationReport]:
    """Return a function that verifies a file as the command does."""

    def run() -> VerificationReport:
        with open_house_file(file) as rows:
            return verify(rows, public_keys=public_keys)

    return run


def measure_command(file: Path) -> None:
    """Print the entries per second of `threedice log verify`, including its start."""
    command = [
        sys.executable,
        "-m",
        "threedice",
        "log",
        "verify",
        "--json",
        "--database",
        str(file),
    ]
    rates = []
    for _ in range(RUNS):
        started = perf_counter()
        result = subprocess.run(command, capture_output=True, check=True)
        rates.append(json.loads(result.stdout)["entries"] / (perf_counter() - started))
    print(f"the command, including its start: {max(rates):.0f} entries/s at best,"
          f" {median(rates):.0f} median of {RUNS}")  # fmt: skip


def run_night(entries: int, tables: int, players: int) -> None:
    """Write a house, load its first table, and verify all of it."""
    print(f"{tables} tables with {players} players each:")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "house.sqlite"
        state = state_directory(str(file))
        with closing(SqliteStore(file)) as store:
            started = perf_counter()
            streams = write(store, entries, tables, players)
            size = file.stat().st_size / 1e6
            seconds = perf_counter() - started
            print(f"{entries} entries written in {seconds:.1f} s, {size:.0f} MB")
            for stream in streams:
                store.save_snapshot(load_stream(store, stream).take_snapshot())
                update_statements(store, stream, GameRegistry(store).load_pinned)
            CheckpointSigner(store, open_keys(state), state).create_checkpoint(10**15)
            started = perf_counter()
            running = load_stream(store, streams[0])
            print(f"{streams[0]} starts from its snapshot in {perf_counter() - started:.3f} s")
        keys = open_keys(state).public
        measure("chains, answers, checkpoints", verifier(file, verify_log, keys))
        for processes, label in ((0, "one process"), (None, "a process per core")):
            audited = partial(audit, processes=processes)
            measure(f"with states, statements and balances, {label}", verifier(file, audited, keys))
        measure_command(file)
        with closing(SqliteStore(file)) as store:
            store.delete_derived_data()
            started = perf_counter()
            replayed = load_stream(store, streams[0])
            print(f"{streams[0]} starts without a snapshot in {perf_counter() - started:.1f} s")
            print(f"to the same state: {replayed.durable == running.durable}")


def main() -> None:
    """Print the measurements."""
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    run_night(entries, tables=1, players=100)
    run_night(entries, tables=100, players=20)


if __name__ == "__main__":
    main()
