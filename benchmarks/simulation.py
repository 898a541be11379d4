"""Measure simulation on this machine's processors, against references and theoretical limits.

Run it with `python benchmarks/simulation.py`; it needs the extra `sim`. Everything is measured
several times in one run; the figures are medians, in rounds per second. Contenders that are too
slow do a part of the work. There are two tasks: 10^8 flat rounds on Big, and 10^6 sessions of 200
Martingale rounds.
"""

from __future__ import annotations

import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # for `benchmarks` when run as a file

from benchmarks.gpu import fold_word, no_philox
from threedice.sim.jobs import FlatJob, SessionJob, generator_key
from threedice.sim.kernels.compiler import cpu_kernel
from threedice.sim.runner import run_job, thread_pool
from threedice.sim.session_terms import Terms

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS = 105
BIG = ((1, WAYS), (-1, 216 - WAYS))
MARTINGALE = Terms("martingale", 1000, 10, 10, 500, 200, BIG)
FLAT_ROUNDS, SESSIONS = 10**8, 10**6
PROCESSORS = os.cpu_count() or 1


def rate(rounds: int, work: Callable[[], Any], runs: int = 5) -> float:
    """Return the rounds per second of some work, the median of some runs."""
    work()
    times = []
    for _ in range(runs):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return rounds / median(times)


def on_all_processors(work: Callable[[int], Any]) -> Callable[[], Any]:
    """Return a function that calls `work` with the number of each thread, in parallel."""

    def run_all() -> None:
        with ThreadPoolExecutor(PROCESSORS) as executor:
            list(executor.map(work, range(PROCESSORS)))

    return run_all


# --- ours ---------------------------------------------------------------------------------------


def ours_flat() -> None:
    """Draw 10^8 flat rounds."""
    with thread_pool() as pool:
        run_job(FlatJob(FLAT_ROUNDS, 1), pool)


def ours_martingale() -> None:
    """Play 10^6 sessions with all histograms."""
    with thread_pool() as pool:
        run_job(SessionJob(MARTINGALE, SESSIONS, 1), pool)


def kernel_with(replacements: tuple[Any, ...]) -> Callable[[], None]:
    """Return a run of the kernel with some functions replaced."""
    kernel = cpu_kernel(MARTINGALE.kernel_spec, None, replacements)
    count = SESSIONS // PROCESSORS

    def play(thread: int) -> None:
        shapes = MARTINGALE.histograms.array_shapes(MARTINGALE.rounds)
        arrays = [np.zeros(shape, np.int64) for shape in shapes]
        arguments = MARTINGALE.kernel_arguments()
        kernel(np.uint64(thread * count), count, generator_key(1), *arguments, *arrays)

    return on_all_processors(play)


@numba.njit(nogil=True)
def count_rolls(rolls: Any, counts: Any) -> None:
    """Count rolls in an array: an upper limit for any simulation that reads every roll."""
    for roll in rolls:
        counts[roll] += 1


@numba.njit(nogil=True)
def count_rolls_in_rows(rolls: Any, counts: Any) -> None:
    """Count rolls into four rows, so that a count does not wait for the one before it."""
    for i in range(0, len(rolls) - 3, 4):
        counts[0, rolls[i]] += 1
        counts[1, rolls[i + 1]] += 1
        counts[2, rolls[i + 2]] += 1
        counts[3, rolls[i + 3]] += 1


# --- references ---------------------------------------------------------------------------------


def python_flat(rounds: int) -> int:
    """Play flat rounds in plain Python."""
    dice, won = random.Random(1), 0
    for _ in range(rounds):
        a, b, c = dice.randint(1, 6), dice.randint(1, 6), dice.randint(1, 6)
        won += 10 if a + b + c >= 11 and not a == b == c else -10
    return won


def python_martingale(sessions: int) -> int:
    """Play Martingale sessions in plain Python."""
    dice, total = random.Random(1), 0
    for _ in range(sessions):
        bank, due = 1000, 10
        for _ in range(200):
            stake = min(due, 500, bank)
            if not stake:
                break
            if dice.randrange(216) < WAYS:
                bank, due = bank + stake, 10
            else:
                bank, due = bank - stake, 2 * due
        total += bank
    return total


class Table:
    """A table as in crapssim: dice, and players who hold bets as objects."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dice = (1, 1, 1)
        self.player = Player()

    def play(self, rounds: int) -> None:
        """Let the player bet, roll, and settle each bet."""
        for _ in range(rounds):
            self.player.strategy()
            self.dice = (
                self.random.randint(1, 6),
                self.random.randint(1, 6),
                self.random.randint(1, 6),
            )
            for bet in list(self.player.bets):
                bet.settle(self.player, self.dice)


class Bet:
    """A bet on Big, one object for each round."""

    def __init__(self, amount: float) -> None:
        self.amount = amount

    def settle(self, player: Player, dice: tuple[int, int, int]) -> None:
        """Pay or take the bet."""
        won = sum(dice) >= 11 and len(set(dice)) > 1
        player.bankroll += 2 * self.amount if won else 0.0
        player.bets.remove(self)
        player.amount = 10.0 if won else min(2 * player.amount, 500.0)


class Player:
    """A player with a bankroll, bets, and a strategy called before each roll."""

    def __init__(self) -> None:
        self.bankroll, self.amount = 1000.0, 10.0
        self.bets: list[Bet] = []

    def strategy(self) -> None:
        """Place the next bet of the Martingale."""
        amount = min(self.amount, self.bankroll)
        if amount > 0:
            self.bankroll -= amount
            self.bets.append(Bet(amount))


def objects_martingale(sessions: int) -> None:
    """Play Martingale sessions with an object for each bet."""
    for seed in range(sessions):
        Table(seed).play(200)


def numpy_flat(rounds: int) -> None:
    """Roll in numpy, a million rounds at a time, and count; on all processors."""

    def play(thread: int) -> int:
        dice, won, remaining = np.random.default_rng(thread), 0, rounds // PROCESSORS
        while remaining > 0:
            rolls = dice.integers(0, 216, min(remaining, 10**6), dtype=np.uint8)
            won += int(np.where(rolls < WAYS, 10, -10).sum())
            remaining -= len(rolls)
        return won

    on_all_processors(play)()


def numpy_martingale(sessions: int) -> None:
    """Play vectors of sessions in numpy, on all processors."""

    def play(thread: int) -> int:
        dice, total, remaining = np.random.default_rng(thread), 0, sessions // PROCESSORS
        while remaining > 0:
            count = min(remaining, 16_384)  # numpy is fastest if the state fits into the cache
            bank, due = np.full(count, 1000, np.int32), np.full(count, 10, np.int32)
            for _ in range(200):
                stake = np.minimum(due, bank)
                won = dice.integers(0, 216, count, dtype=np.uint8) < WAYS
                bank += np.where(won, stake, -stake)
                due = np.where(won, np.int32(10), np.minimum(2 * due, 500))
            total += int(bank.sum())
            remaining -= count
        return total

    on_all_processors(play)()


# --- the table ----------------------------------------------------------------------------------


def flat_rows() -> list[tuple[str, float, str]]:
    """Return the rates of flat rounds: (contender, rounds per second, work)."""
    rolls = np.random.default_rng(1).integers(0, 216, FLAT_ROUNDS // PROCESSORS, dtype=np.uint8)
    counts = np.zeros((PROCESSORS, 8, 216), np.int64)
    counting = on_all_processors(lambda thread: count_rolls(rolls, counts[thread, 0]))
    counting_in_rows = on_all_processors(
        lambda thread: count_rolls_in_rows(rolls, counts[thread, :4])
    )
    return [
        ("ours: drawn in blocks", rate(FLAT_ROUNDS, ours_flat), "10^8 rounds"),
        ("limit: counting only", rate(FLAT_ROUNDS, counting), "10^8 rolls in memory"),
        ("limit: counting only, four rows", rate(FLAT_ROUNDS, counting_in_rows), "the same"),
        ("numpy", rate(FLAT_ROUNDS, lambda: numpy_flat(FLAT_ROUNDS), 3), "10^8 rounds"),
        ("plain Python", rate(10**6, lambda: python_flat(10**6), 3), "10^6 rounds, one processor"),
    ]


def martingale_rows() -> list[tuple[str, float, str]]:
    """Return the rates of Martingale rounds: (contender, rounds per second, work)."""
    rounds = SESSIONS * 200
    return [
        ("ours: with all histograms", rate(rounds, ours_martingale), "10^6 sessions of 200"),
        ("limit: without its generator", rate(rounds, kernel_with((no_philox,))), "the same"),
        ("limit: the generator alone", rate(rounds, kernel_with((fold_word,))), "the same"),
        ("numpy", rate(rounds // 10, lambda: numpy_martingale(SESSIONS // 10), 3), "10^5 sessions"),
        (
            "plain Python",
            rate(2000 * 200, lambda: python_martingale(2000), 3),
            "2,000 sessions, one processor; includes rounds after ruin, which are not played",
        ),
        (
            "an object for each bet",
            rate(500 * 200, lambda: objects_martingale(500), 3),
            "500 sessions, one processor",
        ),
    ]


def markdown() -> str:
    """Measure everything and return the results as tables."""
    lines = [f"{PROCESSORS} processors; medians of one run. Ratio: ours to theirs.", ""]
    for title, rows in (("Flat rounds", flat_rows()), ("Martingale rounds", martingale_rows())):
        lines += [f"| {title} | rounds per second | ratio | measured on |", "|---|---:|---:|---|"]
        ours = rows[0][1]
        lines += [
            f"| {name} | {value:.3g} | {ours / value:.3g} | {work} |" for name, value, work in rows
        ]
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    print(markdown())


if __name__ == "__main__":
    main()
