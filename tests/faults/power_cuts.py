"""Power cuts below SQLite: what the store has acknowledged is there afterwards, nothing by half.

`python -m tests.faults.power_cuts --count 100000` is the long form. What is varied, by a seed:

- the disk: sectors of 512 or 4096 bytes; powersafe overwrite claimed and honoured, or neither;
- the database: new, closed before, or left by a killed process with its write-ahead log; that log
  moved into the file often, seldom or never, so that cuts fall into the moving as well;
- the round: how many bets, in which batches, how large a game and a settlement;
- the moment: before any operation from the opening of the store to its closing, or after the last;
- what survives of the sectors, sizes and names that were not yet durable: see `disk_survival`;
- and, for a quarter of the cuts, a second one before any operation of the recovery.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

from tests.faults.disk_store import Level, opened
from tests.faults.power_recording import KINDS, Kind, Recording, bases, record
from tests.faults.power_tally import UNREADABLE, Tally, look

if TYPE_CHECKING:
    from tests.faults.disk import Cut

CUTS_PER_ROUND = 50


def power_cuts(count: int, seed: int, *, level: Level = "FULL") -> Tally:
    """Cut the power so many times, in as many rounds as that takes."""
    tally, random = Tally(), Random(seed)
    while tally.cuts < count:
        cut_round(random.getrandbits(32), min(CUTS_PER_ROUND, count - tally.cuts), tally, level)
    return tally


def cut_round(seed: int, count: int, tally: Tally, level: Level = "FULL") -> None:
    """Record one round, and cut the power in it so many times."""
    random = Random(seed)
    kind = random.choice(KINDS)
    base, fold_every = random.choice(bases()), random.choice((12, 60, 1000))
    steps = base.play.after(random).round()
    recording = record(base, kind.new(base.image), steps, level=level, fold_every=fold_every)
    moments = sorted(random.choices(range(len(recording.trace) + 1), k=count))
    cut_at(moments, recording, kind, random, tally, f"round {seed} of {count} cuts")


def every_moment(survivals: int, seed: int) -> Tally:
    """Cut the power before each operation of a round, on each kind of database, and after it."""
    tally = Tally()
    for number, base in enumerate(bases()):
        random = Random(seed + number)
        kind = random.choice(KINDS)
        steps = base.play.after(random).round()
        recording = record(base, kind.new(base.image), steps, level="FULL", fold_every=60)
        moments = [at for at in range(len(recording.trace) + 1) for _ in range(survivals)]
        cut_at(moments, recording, kind, random, tally, f"every moment, base {number}")
    return tally


def cut_at(
    moments: list[int], recording: Recording, kind: Kind, random: Random, tally: Tally, where: str
) -> None:
    """Do a recording again, and at each of some moments, in their order, cut the power."""
    tally.rounds += 1
    disk = kind.new(recording.base.image)
    for number, moment in enumerate(moments):
        for operation in recording.trace[len(disk.trace) : moment]:
            disk.again(operation)
        cut = disk.cut(random)
        tally.add_cut(cut)
        if random.random() < 0.25:
            cut = cut_recovery(cut, kind, random)
            tally.twice += 1
        written = recording.written(moment)
        found = look(kind.new(cut.image), written)
        tally.add_found(found, written, f"{where}, cut {number} at operation {moment}")


def cut_recovery(cut: Cut, kind: Kind, random: Random) -> Cut:
    """Cut the power again, while the store recovers from a first cut."""
    disk = kind.new(cut.image)
    with suppress(*UNREADABLE), opened(disk):
        pass
    upto = random.randrange(len(disk.trace) + 1)
    return kind.replayed(cut.image, disk.trace[:upto]).cut(random)


def main() -> None:
    """Run the long form; it fails where anything acknowledged was lost or anything is damaged."""
    parser = argparse.ArgumentParser(description="Power cuts below SQLite.")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=Random().getrandbits(32))
    parser.add_argument("--round", type=int, help="only this round, by its seed, with --count cuts")
    asked = parser.parse_args()
    began = monotonic()
    if asked.round is not None:
        tallies = [Tally()]
        cut_round(asked.round, asked.count, tallies[0])
    else:
        sys.stdout.write(f"seed {asked.seed}\n")
        tallies = [every_moment(5, asked.seed), power_cuts(asked.count, asked.seed)]
    sys.stdout.writelines(f"{tally}\n" for tally in tallies)
    sys.stdout.write(f"in {monotonic() - began:.0f} s\n")
    problems = [problem for tally in tallies for problem in tally.problems]
    sys.stdout.writelines(f"{problem}\n" for problem in problems[:20])
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
