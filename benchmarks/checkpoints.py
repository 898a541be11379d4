"""Measure how `threedice serve` and `backup` depend on the number of checkpoints.

Run it with `python benchmarks/checkpoints.py [COUNT]`. Houses with a thousand and with COUNT (by
default a million) checkpoints are written to SQLite files: with all of them in the database, as
before there were roll-ups, and rolled up. Each command is measured until the house is well or the
backup is complete, with the largest memory of its process, in the middle of three runs.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import msgspec

from threedice.log.proof.checkpoint_files import CHECKPOINTS_FILE, encode_checkpoint_line
from threedice.log.proof.checkpoints import CheckpointBody, RollUp, link_hash, sign_checkpoint
from threedice.log.proof.keys import open_keys
from threedice.log.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from threedice.db import SqlRunner
    from threedice.log.proof.keys import SigningKeys
    from threedice.log.records import Checkpoint

RUNS, FEW, KEPT = 3, 1_000, 1_500
HOUSE_FILE = """
name = "House"
currency = "SGD"
time_zone = "Asia/Singapore"
gaming_day_starts = 06:00:00

[tables.pit-1]
game = "sg-rws-tai-sai-v6/a"
mode = "record"
chips = [500]
float = 500_000
limits = { minimum = 1000, maximum = 500000 }
"""
THREEDICE = (sys.executable, "-m", "threedice")


def write_house(folder: Path, count: int, *, rolled_up: bool) -> None:
    """Write a house with checkpoints, in its database and its file."""
    path = folder / "house.sqlite"
    state = folder / "house.sqlite.state"
    (folder / "house.toml").write_text(HOUSE_FILE)
    first = max(0, count - KEPT) if rolled_up else 0
    with closing(SqliteStore(path)) as store:
        keys, last, roll_up = open_keys(state), None, None
        with (state / CHECKPOINTS_FILE).open("wb") as file:
            for start in range(0, count, 1000):
                made = []
                for number in range(start + 1, min(start + 1000, count) + 1):
                    last = sign(keys, number, last, roll_up)
                    if number == first:
                        roll_up = RollUp(number, link_hash(last))
                    file.write(encode_checkpoint_line(last))
                    made.append(msgspec.structs.astuple(last))
                rows = [row for row in made if row[0] > first]
                store.database.transact(partial(insert_checkpoints, rows))


def insert_checkpoints(rows: list[tuple[Any, ...]], run: SqlRunner) -> None:
    """Insert checkpoints in an open transaction."""
    for row in rows:
        run("INSERT INTO checkpoints VALUES (?, ?, ?, ?)", row)


def sign(
    keys: SigningKeys, number: int, before: Checkpoint | None, roll_up: RollUp | None
) -> Checkpoint:
    """Sign a checkpoint; every hundredth is full."""
    full = number % 100 == 0
    body = CheckpointBody(number, number, link_hash(before), full, {}, keys.key_id)
    return sign_checkpoint(keys, msgspec.structs.replace(body, rolled_up=roll_up) if full else body)


def measure_serve(folder: Path, _: int) -> tuple[float, float]:
    """Return the seconds until a house is well, and its largest memory in MB."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = perf_counter()
    process = run(folder, "serve", "--port", str(port), "--house", str(folder / "house.toml"))
    try:
        while perf_counter() < start + 60:
            with suppress(OSError):
                urlopen(f"http://127.0.0.1:{port}/health").close()
                break
            sleep(0.005)
        seconds = perf_counter() - start
    finally:
        process.send_signal(signal.SIGTERM)
    return seconds, peak(process)


def measure_backup(folder: Path, number: int) -> tuple[float, float]:
    """Return the seconds that a backup takes, and its largest memory in MB."""
    start = perf_counter()
    process = run(folder, "backup", str(folder / f"backup-{number}"))
    memory = peak(process)
    return perf_counter() - start, memory


def run(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a command on a house."""
    database = f"sqlite:///{folder / 'house.sqlite'}"
    return subprocess.Popen(
        [*THREEDICE, *arguments, "--database", database],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"THREEDICE_BACKUP_PASSPHRASE": "a passphrase for a benchmark"},
    )


def peak(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process, and return its largest memory in MB."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{process.args!r} failed with {process.returncode}")
    return usage.ru_maxrss / 1024


def main() -> None:
    """Print the figures."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    commands: dict[str, Callable[[Path, int], tuple[float, float]]] = {
        "serve": measure_serve,
        "backup": measure_backup,
    }
    for kind in ("plain", "rolled up"):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            folders = {count: Path(name) / str(count) for count in (FEW, many)}
            for count, folder in folders.items():
                folder.mkdir()
                write_house(folder, count, rolled_up=kind == "rolled up")
            for command, measure in commands.items():
                runs: dict[int, list[tuple[float, float]]] = {FEW: [], many: []}
                for number in range(RUNS):
                    for count, folder in folders.items():
                        runs[count].append(measure(folder, number))
                few, lots = (
                    [median(column) for column in zip(*runs[count], strict=True)] for count in runs
                )
                print(
                    f"{kind}, {command}: {FEW:,} in {few[0]:.2f} s and {few[1]:.0f} MB,"
                    f" {many:,} in {lots[0]:.2f} s and {lots[1]:.0f} MB:"
                    f" {lots[0] / few[0]:.2f} and {lots[1] / few[1]:.2f} times as much",
                    flush=True,
                )


if __name__ == "__main__":
    main()
