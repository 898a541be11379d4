"""Kills under load: of processes that serve, of PostgreSQL and of single connections.

`python -m tests.faults.kills --kills 1000 --postmaster 100` is the long form. A process is killed
at a point drawn from the seed (see `kill_process`); a pipe reports what it had acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

from tests.faults.kill_houses import KINDS, KillOutcome, compare, houses, restart_and_check
from tests.faults.kill_postgres import (
    BACKENDS,
    POSTMASTER,
    ListenerTally,
    ServerTally,
    kill_listeners,
    kill_postgres,
    wait_until_gone,
)
from tests.faults.kill_process import POINTS, KillPlan, run_until_killed
from threedice.errors import ThreediceError
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.kill_houses import House, Houses, Kind
    from tests.faults.kill_load import Transcript


@dataclass(slots=True)
class KillTally:
    """Counts of killed processes and of the commands that survived them."""

    points: Counter[str] = field(default_factory=Counter)
    between: int = 0
    acknowledged: int = 0
    lost: int = 0
    unacknowledged: int = 0
    absent: int = 0
    resent: int = 0
    interrupted: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        """The number of kills."""
        return self.points.total()

    def add(self, point: str, found: KillOutcome, where: str) -> None:
        """Count a kill."""
        self.points[point] += 1
        self.between += found.unacknowledged > 0
        self.acknowledged += found.acknowledged
        self.lost += found.lost
        self.unacknowledged += found.unacknowledged
        self.absent += found.absent
        self.resent += found.resent
        self.interrupted += found.interrupted
        self.problems += [f"{where}: {problem}" for problem in found.problems]

    def __str__(self) -> str:
        points = ", ".join(f"{count} {point}" for point, count in sorted(self.points.items()))
        return (
            f"{self.kills} processes killed ({points}),"
            f" {self.between} of them between commit and acknowledgement\n"
            f"{self.acknowledged} acknowledged commands checked: {self.lost} lost;"
            f" in flight: {self.unacknowledged} stored completely, {self.absent} absent;"
            f" {self.resent} sent again; {self.interrupted} tables were interrupted;"
            f" {len(self.problems)} problems"
        )


def kill_processes(houses: Houses, kind: Kind, count: int, seed: int) -> KillTally:
    """Kill a number of processes that write to a kind of database."""
    tally, random = KillTally(), Random(seed)
    for number in range(count):
        seed = random.getrandbits(32) * len(POINTS) + number % len(POINTS)
        kill_process(houses, kind, seed, tally)
    return tally


def kill_process(houses: Houses, kind: Kind, seed: int, tally: KillTally) -> None:
    """Run a house until it is killed, check it, and serve it again."""
    random, point = Random(seed), POINTS[seed % len(POINTS)]
    nth = {"from outside": 120, "before reply": 120, "in a checkpoint": 2}.get(point, 15)
    with houses.copy(kind) as house:
        plan = KillPlan(
            house.url, house.state, random.getrandbits(32), point, random.randint(1, nth)
        )
        transcript, ended = run_until_killed(plan)
        found = check_house(house, transcript, random)
        if ended:
            found.problems.append(ended)
    tally.add(point, found, f"--process {seed} on {kind}, killed {point}, number {plan.nth}")


def check_house(house: House, transcript: Transcript, random: Random) -> KillOutcome:
    """Open the store of a killed house again, check its commands, and serve it."""
    if house.url.startswith("postgresql:"):
        wait_until_gone(house.url)
    found = KillOutcome()
    store = open_store(house.url, serving=True)
    try:
        found = compare(store, house, transcript)
        asyncio.run(restart_and_check(store, house, transcript, found, random))
    except ThreediceError as error:
        found.problems.append(f"{type(error).__name__}: {error}")
    finally:
        store.close()
    return found


def main() -> None:
    """Run the long form; fail if an acknowledged command is lost or a check fails."""
    parser = argparse.ArgumentParser(description="Kills under load.")
    parser.add_argument("--kills", type=int, default=1_000, help="of processes that write")
    parser.add_argument("--postmaster", type=int, default=100)
    parser.add_argument("--backends", type=int, default=100)
    parser.add_argument("--listeners", type=int, default=100)
    parser.add_argument("--seed", type=int, default=Random().getrandbits(32))
    parser.add_argument("--process", type=int, nargs="+", help="kill some again, by their seeds")
    options = parser.parse_args()
    with houses() as prepared:
        sys.exit(
            _repeat(prepared, options.process) if options.process else _run_all(prepared, options)
        )


def _run_all(prepared: Houses, options: argparse.Namespace) -> bool:
    """Run every kind of kill, print the tallies, and return whether a check failed."""
    sys.stdout.write(f"seed {options.seed}\n")
    seed, some, wrong = options.seed, options.kills * 3 // 10, False
    ways = {"postmaster": POSTMASTER, "backends": BACKENDS}
    campaigns: list[Callable[[], KillTally | ServerTally | ListenerTally]] = [
        lambda: kill_processes(prepared, "sqlite", options.kills - some, seed),
        lambda: kill_processes(prepared, "postgres", some, seed),
        *(
            partial(
                kill_postgres, prepared, list(islice(cycle(each), getattr(options, name))), seed
            )
            for name, each in ways.items()
        ),
        lambda: kill_listeners(prepared, options.listeners),
    ]
    for campaign in campaigns:
        began = monotonic()
        tally = campaign()
        sys.stdout.write(f"{tally}\nin {monotonic() - began:.0f} s\n")
        sys.stdout.writelines(f"{problem}\n" for problem in tally.problems[:20])
        sys.stdout.flush()
        wrong = wrong or bool(tally.problems)
    return wrong


def _repeat(prepared: Houses, seeds: list[int]) -> bool:
    tally = KillTally()
    for kind in KINDS:
        for seed in seeds:
            kill_process(prepared, kind, seed, tally)
    sys.stdout.write(f"{tally}\n")
    sys.stdout.writelines(f"{problem}\n" for problem in tally.problems)
    return bool(tally.problems)


if __name__ == "__main__":
    main()
