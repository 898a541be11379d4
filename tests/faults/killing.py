"""Kills under load: of processes that serve, of PostgreSQL and of single connections.

`python -m tests.faults.killing --kills 1000 --postmaster 100` is the long form. A process is killed
at a point that the seed draws (see `kill_points`); what it had acknowledged is known from a pipe.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from functools import partial
from itertools import cycle, islice
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

from tests.faults.kill_child import Life, killed
from tests.faults.kill_found import Found, come_back, compare
from tests.faults.kill_houses import KINDS, houses
from tests.faults.kill_listeners import kill_listeners
from tests.faults.kill_points import POINTS
from tests.faults.kill_servers import BACKENDS, POSTMASTER, kill_postgres, wait_until_gone
from tests.faults.kill_tally import Tally
from threedice.errors import ThreediceError
from threedice.log.stores.urls import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.kill_houses import House, Houses, Kind
    from tests.faults.kill_tally import ListenerTally, ServerTally
    from tests.faults.kill_words import Heard


def kill_processes(houses: Houses, kind: Kind, count: int, seed: int) -> Tally:
    """Kill so many processes that write to a kind of database."""
    tally, random = Tally(), Random(seed)
    for number in range(count):
        seed = random.getrandbits(32) * len(POINTS) + number % len(POINTS)
        kill_process(houses, kind, seed, tally)
    return tally


def kill_process(houses: Houses, kind: Kind, seed: int, tally: Tally) -> None:
    """Have a house serve until it is killed, look at what it leaves, and serve on."""
    random, point = Random(seed), POINTS[seed % len(POINTS)]
    nth = {"from outside": 120, "before telling": 120, "in a checkpoint": 2}.get(point, 15)
    with houses.lend(kind) as house:
        life = Life(house.url, house.state, random.getrandbits(32), point, random.randint(1, nth))
        heard, ended = killed(life)
        found = look(house, heard, random)
        if ended:
            found.problems.append(ended)
    tally.add(point, found, f"--process {seed} on {kind}, killed {point}, number {life.nth}")


def look(house: House, heard: Heard, random: Random) -> Found:
    """Open the store of a killed house again, hold it against what it told, and serve it."""
    if house.url.startswith("postgresql:"):
        wait_until_gone(house.url)
    found = Found()
    store = open_store(house.url, serving=True)
    try:
        found = compare(store, house, heard)
        asyncio.run(come_back(store, house, heard, found, random))
    except ThreediceError as error:
        found.problems.append(f"{type(error).__name__}: {error}")
    finally:
        store.close()
    return found


def main() -> None:
    """Run the long form; it fails where anything acknowledged was lost or anything is wrong."""
    parser = argparse.ArgumentParser(description="Kills under load.")
    parser.add_argument("--kills", type=int, default=1_000, help="of processes that write")
    parser.add_argument("--postmaster", type=int, default=100)
    parser.add_argument("--backends", type=int, default=100)
    parser.add_argument("--listeners", type=int, default=100)
    parser.add_argument("--seed", type=int, default=Random().getrandbits(32))
    parser.add_argument("--process", type=int, nargs="+", help="kill some again, by their seeds")
    asked = parser.parse_args()
    with houses() as prepared:
        sys.exit(_again(prepared, asked.process) if asked.process else _all(prepared, asked))


def _all(prepared: Houses, asked: argparse.Namespace) -> bool:
    """Kill everything, print each tally, and tell whether anything was wrong."""
    sys.stdout.write(f"seed {asked.seed}\n")
    seed, some, wrong = asked.seed, asked.kills * 3 // 10, False
    ways = {"postmaster": POSTMASTER, "backends": BACKENDS}
    campaigns: list[Callable[[], Tally | ServerTally | ListenerTally]] = [
        lambda: kill_processes(prepared, "sqlite", asked.kills - some, seed),
        lambda: kill_processes(prepared, "postgres", some, seed),
        *(
            partial(kill_postgres, prepared, list(islice(cycle(each), getattr(asked, name))), seed)
            for name, each in ways.items()
        ),
        lambda: kill_listeners(prepared, asked.listeners),
    ]
    for campaign in campaigns:
        began = monotonic()
        tally = campaign()
        sys.stdout.write(f"{tally}\nin {monotonic() - began:.0f} s\n")
        sys.stdout.writelines(f"{problem}\n" for problem in tally.problems[:20])
        sys.stdout.flush()
        wrong = wrong or bool(tally.problems)
    return wrong


def _again(prepared: Houses, seeds: list[int]) -> bool:
    tally = Tally()
    for kind in KINDS:
        for seed in seeds:
            kill_process(prepared, kind, seed, tally)
    sys.stdout.write(f"{tally}\n")
    sys.stdout.writelines(f"{problem}\n" for problem in tally.problems)
    return bool(tally.problems)


if __name__ == "__main__":
    main()
