"""How long the distribution of 100 rounds takes, beside dicetables, icepool and dyce.

Run it with `python benchmarks/rounds.py`; it needs the `bench` extra. All four are given the nets
of one round with their ways out of 216, and must give the same counts before anything is timed.
Then they take turns, so that a busy spell hits all of them alike. `results` returns the table.
"""

from __future__ import annotations

import gc
import platform
from collections import Counter
from importlib.metadata import version
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import dicetables  # type: ignore[import-not-found,import-untyped,unused-ignore]
import dyce  # type: ignore[import-not-found,unused-ignore]
import icepool  # type: ignore[import-not-found,import-untyped,unused-ignore]

from threedice import Mix, load
from threedice.odds import over_rounds, round_distribution
from threedice.odds.distribution import distribution_from_counts

if TYPE_CHECKING:
    from collections.abc import Callable

GAME = "sg-rws-tai-sai-v6/a"
MIXES = {
    "Big": {"big": 50},
    "Big and total 10": {"big": 50, "total:10": 20},
    "a single, 3 tiers": {"single:1": 10},
}
ROUNDS = 100
TURNS = 7
TARGET = 20
"""How many times as quick as dicetables, at least."""


def ours(nets: dict[int, int]) -> dict[int, int]:
    """Count with Miller's recurrence, and say the counts out of 216 to the 100."""
    found = over_rounds(distribution_from_counts(nets), ROUNDS)
    common = (216 // found.one_round.total_ways) ** ROUNDS
    low, step = found.one_round.lowest * ROUNDS, found.one_round.step
    return {low + k * step: n * common for k, n in enumerate(found.counts) if n}


def by_dicetables(nets: dict[int, int]) -> dict[int, int]:
    """Combine the events of one round a hundred times."""
    one = dicetables.AdditiveEvents(nets)
    return dict(dicetables.AdditiveEvents.new().combine(one, ROUNDS).get_dict())


def by_icepool(nets: dict[int, int]) -> dict[int, int]:
    """Roll the die of one round a hundred times, and bring it back to the full denominator."""
    sums = ROUNDS @ icepool.Die(nets)
    return {net: n * (216**ROUNDS // sums.denominator()) for net, n in sums.items()}


def by_dyce(nets: dict[int, int]) -> dict[int, int]:
    """Sum a hundred of one round's histogram."""
    sums: Any = ROUNDS @ dyce.H(nets)
    whole = sum(sums.counts())
    return {net: n * (216**ROUNDS // whole) for net, n in sums.items()}


CONTENDERS: dict[str, Callable[[dict[int, int]], dict[int, int]]] = {
    "threedice": ours,
    "dicetables": by_dicetables,
    "icepool": by_icepool,
    "dyce": by_dyce,
}


def race(nets: dict[int, int]) -> dict[str, float]:
    """Return each contender's median in milliseconds, after all have agreed."""
    expected = ours(nets)
    for name, work in CONTENDERS.items():
        if work(nets) != expected:
            raise SystemExit(f"{name} counts otherwise, so its time would mean nothing")
    times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(TURNS):
        for name, work in CONTENDERS.items():
            gc.collect()
            start = perf_counter()
            work(nets)
            times[name].append(1000 * (perf_counter() - start))
    return {name: median(taken) for name, taken in times.items()}


def results() -> tuple[str, bool]:
    """Return the medians and ratios as a table in Markdown, and whether the target is met."""
    game = load(GAME)
    others = [name for name in CONTENDERS if name != "threedice"]
    lines = [
        f"Distribution of {ROUNDS} rounds on {GAME}, medians of {TURNS} in milliseconds; in "
        "brackets how many times as long as ours.",
        "",
        f"| bets | results | threedice | {' | '.join(f'{n} {version(n)}' for n in others)} |",
        f"|---|---:|---:|{'---:|' * len(others)}",
    ]
    met = True
    for name, bets in MIXES.items():
        mix = Mix(game, bets)
        medians = race(dict(Counter(mix.nets)))
        mine = medians["threedice"]
        met &= medians["dicetables"] >= TARGET * mine
        cells = [f"{medians[each]:.1f} ({medians[each] / mine:.0f}x)" for each in others]
        places = len(over_rounds(round_distribution(mix), ROUNDS).counts)
        lines.append(f"| {name} | {places} | {mine:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines), met


def main() -> None:
    """Check, time, and hold the medians against the target."""
    table, met = results()
    print(f"Python {platform.python_version()}\n\n{table}\n")
    verdict = "target met" if met else "target MISSED"
    print(f"at least {TARGET} times as quick as dicetables: {verdict}")


if __name__ == "__main__":
    main()
