"""Measure the distribution of 100 rounds against dicetables, icepool and dyce.

Run it with `python benchmarks/rounds.py`; it needs the `bench` extra. All four get the net results
of one round with their ways out of 216, and must give the same counts before anything is timed.
They take turns, so that load on the machine affects all of them. `results` returns the table.
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
"""Minimum speed-up over dicetables."""


def ours(nets: dict[int, int]) -> dict[int, int]:
    """Count with Miller's recurrence, and scale the counts to a total of 216^100."""
    distribution = over_rounds(distribution_from_counts(nets), ROUNDS)
    one_round = distribution.one_round
    factor = (216 // one_round.total_ways) ** ROUNDS
    low, step = one_round.lowest * ROUNDS, one_round.step
    return {low + k * step: count * factor for k, count in enumerate(distribution.counts) if count}


def by_dicetables(nets: dict[int, int]) -> dict[int, int]:
    """Combine the events of one round a hundred times."""
    one_round = dicetables.AdditiveEvents(nets)
    return dict(dicetables.AdditiveEvents.new().combine(one_round, ROUNDS).get_dict())


def by_icepool(nets: dict[int, int]) -> dict[int, int]:
    """Roll the die of one round a hundred times, and scale the counts to a total of 216^100."""
    sums = ROUNDS @ icepool.Die(nets)
    return {net: n * (216**ROUNDS // sums.denominator()) for net, n in sums.items()}


def by_dyce(nets: dict[int, int]) -> dict[int, int]:
    """Add the histogram of one round a hundred times, and scale the counts likewise."""
    sums: Any = ROUNDS @ dyce.H(nets)
    total = sum(sums.counts())
    return {net: n * (216**ROUNDS // total) for net, n in sums.items()}


CONTENDERS: dict[str, Callable[[dict[int, int]], dict[int, int]]] = {
    "threedice": ours,
    "dicetables": by_dicetables,
    "icepool": by_icepool,
    "dyce": by_dyce,
}


def race(nets: dict[int, int]) -> dict[str, float]:
    """Check that all contenders agree, and return the median of each in milliseconds."""
    expected = ours(nets)
    for name, work in CONTENDERS.items():
        if work(nets) != expected:
            raise SystemExit(f"{name} gives other counts, so its time would mean nothing")
    times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(TURNS):
        for name, work in CONTENDERS.items():
            gc.collect()
            start = perf_counter()
            work(nets)
            times[name].append(1000 * (perf_counter() - start))
    return {name: median(samples) for name, samples in times.items()}


def results() -> tuple[str, bool]:
    """Return the medians and ratios as a Markdown table, and whether the target is met."""
    game = load(GAME)
    others = [name for name in CONTENDERS if name != "threedice"]
    lines = [
        f"Distribution of {ROUNDS} rounds on {GAME}, medians of {TURNS} in milliseconds; in "
        "brackets the ratio to ours.",
        "",
        f"| bets | results | threedice | {' | '.join(f'{n} {version(n)}' for n in others)} |",
        f"|---|---:|---:|{'---:|' * len(others)}",
    ]
    met = True
    for name, bets in MIXES.items():
        mix = Mix(game, bets)
        medians = race(dict(Counter(mix.nets)))
        our_median = medians["threedice"]
        met &= medians["dicetables"] >= TARGET * our_median
        cells = [f"{medians[other]:.1f} ({medians[other] / our_median:.0f}x)" for other in others]
        size = len(over_rounds(round_distribution(mix), ROUNDS).counts)
        lines.append(f"| {name} | {size} | {our_median:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines), met


def main() -> None:
    """Check, time, and compare the medians with the target."""
    table, met = results()
    print(f"Python {platform.python_version()}\n\n{table}\n")
    verdict = "target met" if met else "target MISSED"
    print(f"at least {TARGET} times as fast as dicetables: {verdict}")


if __name__ == "__main__":
    main()
