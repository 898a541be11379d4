"""Power cuts below SQLite: acknowledged proposals survive, and none is written in part.

`python -m tests.faults.power_cuts --count 100000` is the long form. A seed varies:

- the disk: sectors of 512 or 4096 bytes; powersafe overwrite claimed and honoured, or neither;
- the database: new, closed before, or left by a killed process with its write-ahead log; the log
  checkpointed often, seldom or never, so that cuts fall into checkpoints as well;
- the round: the number of bets, their batches, the size of the game and of the settlement;
- the moment: before any operation from the opening of the store to its closing, or after the last;
- which unsynced sectors, sizes and names survive: see `simulated_disk`;
- and, for a quarter of the cuts, a second one before any operation of the recovery.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

import apsw

from tests.faults.recorded_rounds import (
    DISK_KINDS,
    Comparison,
    DiskKind,
    Recording,
    base_databases,
    compare,
    record,
)
from tests.faults.sqlite_on_disk import Level, integrity_errors, open_on_disk
from threedice.errors import StoreUnusable, ThreediceError

if TYPE_CHECKING:
    from tests.faults.recorded_rounds import WriteHistory
    from tests.faults.simulated_disk import Cut, Disk

UNREADABLE = (ThreediceError, apsw.Error, UnicodeDecodeError)
"""Errors raised by a store whose file is damaged."""


@dataclass(slots=True)
class PowerCutTally:
    """Counts of power cuts and of the proposals that survived them."""

    rounds: int = 0
    cuts: int = 0
    dropped: int = 0
    torn: int = 0
    reordered: int = 0
    twice: int = 0
    acknowledged: int = 0
    present: int = 0
    absent: int = 0
    lost: int = 0
    damaged: int = 0
    problems: list[str] = field(default_factory=list)

    def add_cut(self, cut: Cut) -> None:
        """Count the effect of a cut on pending writes."""
        self.cuts += 1
        self.dropped += cut.dropped
        self.torn += cut.torn
        self.reordered += cut.reordered

    def add_found(self, found: Comparison, written: WriteHistory, where: str) -> None:
        """Count the proposals found after a cut."""
        self.acknowledged += len(written.acknowledged)
        self.present += found.present
        self.absent += found.absent
        self.lost += found.lost
        self.damaged += found.damaged
        self.problems += [f"{where}: {problem}" for problem in found.problems]

    def __str__(self) -> str:
        return (
            f"{self.cuts} power cuts in {self.rounds} rounds: {self.dropped} dropped writes,"
            f" {self.torn} tore sectors, {self.reordered} reordered writes,"
            f" {self.twice} came twice, the second during recovery\n"
            f"{self.acknowledged} acknowledged proposals looked for: {self.lost} lost;"
            f" in flight: {self.present} present, {self.absent} absent;"
            f" {self.damaged} databases damaged"
        )


def inspect_disk(disk: Disk, written: WriteHistory) -> Comparison:
    """Open the store on a disk again and compare it with its write history."""
    try:
        with open_on_disk(disk) as store:
            found = compare(store, written)
        wrong = integrity_errors(disk)
    except UNREADABLE as error:
        return Comparison(
            damaged=True,
            unfit=isinstance(error, StoreUnusable),
            problems=[f"{type(error).__name__}: {error}"],
        )
    return found._replace(damaged=bool(wrong), problems=[*found.problems, *wrong])


CUTS_PER_ROUND = 50


def power_cuts(count: int, seed: int, *, level: Level = "FULL") -> PowerCutTally:
    """Cut the power a number of times, in as many rounds as needed."""
    tally, random = PowerCutTally(), Random(seed)
    while tally.cuts < count:
        cut_round(random.getrandbits(32), min(CUTS_PER_ROUND, count - tally.cuts), tally, level)
    return tally


def cut_round(seed: int, count: int, tally: PowerCutTally, level: Level = "FULL") -> None:
    """Record one round and cut the power in it a number of times."""
    random = Random(seed)
    kind = random.choice(DISK_KINDS)
    base, checkpoint_every = random.choice(base_databases()), random.choice((12, 60, 1000))
    steps = base.generator.fork(random).round()
    recording = record(
        base, kind.new(base.image), steps, level=level, checkpoint_every=checkpoint_every
    )
    moments = sorted(random.choices(range(len(recording.trace) + 1), k=count))
    cut_at(moments, recording, kind, random, tally, f"round {seed} of {count} cuts")


def every_moment(survivals: int, seed: int) -> PowerCutTally:
    """Cut the power before and after each operation of a round, on each kind of database."""
    tally = PowerCutTally()
    for number, base in enumerate(base_databases()):
        random = Random(seed + number)
        kind = random.choice(DISK_KINDS)
        steps = base.generator.fork(random).round()
        recording = record(base, kind.new(base.image), steps, level="FULL", checkpoint_every=60)
        moments = [at for at in range(len(recording.trace) + 1) for _ in range(survivals)]
        cut_at(moments, recording, kind, random, tally, f"every moment, base {number}")
    return tally


def cut_at(
    moments: list[int],
    recording: Recording,
    kind: DiskKind,
    random: Random,
    tally: PowerCutTally,
    where: str,
) -> None:
    """Replay a recording and cut the power at given moments."""
    tally.rounds += 1
    disk = kind.new(recording.base.image)
    for number, moment in enumerate(moments):
        for operation in recording.trace[len(disk.trace) : moment]:
            disk.replay(operation)
        cut = disk.cut(random)
        tally.add_cut(cut)
        if random.random() < 0.25:
            cut = cut_recovery(cut, kind, random)
            tally.twice += 1
        written = recording.written(moment)
        found = inspect_disk(kind.new(cut.image), written)
        tally.add_found(found, written, f"{where}, cut {number} at operation {moment}")


def cut_recovery(cut: Cut, kind: DiskKind, random: Random) -> Cut:
    """Cut the power again during the recovery from a first cut."""
    disk = kind.new(cut.image)
    with suppress(*UNREADABLE), open_on_disk(disk):
        pass
    upto = random.randrange(len(disk.trace) + 1)
    return kind.replayed(cut.image, disk.trace[:upto]).cut(random)


def main() -> None:
    """Run the long form; fail if an acknowledged proposal is lost or a database damaged."""
    parser = argparse.ArgumentParser(description="Power cuts below SQLite.")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=Random().getrandbits(32))
    parser.add_argument("--round", type=int, help="only this round, by its seed, with --count cuts")
    options = parser.parse_args()
    began = monotonic()
    if options.round is not None:
        tallies = [PowerCutTally()]
        cut_round(options.round, options.count, tallies[0])
    else:
        sys.stdout.write(f"seed {options.seed}\n")
        tallies = [every_moment(5, options.seed), power_cuts(options.count, options.seed)]
    sys.stdout.writelines(f"{tally}\n" for tally in tallies)
    sys.stdout.write(f"in {monotonic() - began:.0f} s\n")
    problems = [problem for tally in tallies for problem in tally.problems]
    sys.stdout.writelines(f"{problem}\n" for problem in problems[:20])
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
