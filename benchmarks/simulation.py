"""Simulation on this machine's processors, against others and against what the machine could do.

Run it with `python benchmarks/simulation.py`; it needs the extra `sim`. Everything is measured in
one run, each several times, and told as rounds per second, the median; work too slow to be done in
full is done in part, and its rate is told. Two questions are put to everybody: 10^8 flat rounds on
Big, and 10^6 sessions of 200 Martingale rounds.
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

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a file, it is in no package

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
HANDS = os.cpu_count() or 1


def rate(rounds: int, work: Callable[[], Any], runs: int = 5) -> float:
    """Return how many rounds a second some work does, the median of some runs."""
    work()
    taken = []
    for _ in range(runs):
        began = perf_counter()
        work()
        taken.append(perf_counter() - began)
    return rounds / median(taken)


def each_hand(work: Callable[[int], Any]) -> Callable[[], Any]:
    """Return work done by all processors at once, each its part."""

    def together() -> None:
        with ThreadPoolExecutor(HANDS) as pool:
            list(pool.map(work, range(HANDS)))

    return together


# --- ours ---------------------------------------------------------------------------------------


def ours_flat() -> None:
    """Draw 10^8 flat rounds."""
    with thread_pool() as crew:
        run_job(FlatJob(FLAT_ROUNDS, 1), crew)


def ours_martingale() -> None:
    """Play 10^6 sessions, everything counted."""
    with thread_pool() as crew:
        run_job(SessionJob(MARTINGALE, SESSIONS, 1), crew)


def kernel_with(instead: tuple[Any, ...]) -> Callable[[], None]:
    """Return the kernel at work with some function replaced."""
    kernel = cpu_kernel(MARTINGALE.kernel_spec, None, instead)
    part = SESSIONS // HANDS

    def one(hand: int) -> None:
        room = [
            np.zeros(each, np.int64)
            for each in MARTINGALE.histograms.array_shapes(MARTINGALE.rounds)
        ]
        kernel(
            np.uint64(hand * part), part, generator_key(1), *MARTINGALE.kernel_arguments(), *room
        )

    return each_hand(one)


@numba.njit(nogil=True)
def counted(rolls: Any, counts: Any) -> None:
    """Count rolls that are there already: no simulation that looks at each can be faster."""
    for roll in rolls:
        counts[roll] += 1


@numba.njit(nogil=True)
def counted_apart(rolls: Any, counts: Any) -> None:
    """Count rolls into four rows, so that one count need not wait for the one before it."""
    for i in range(0, len(rolls) - 3, 4):
        counts[0, rolls[i]] += 1
        counts[1, rolls[i + 1]] += 1
        counts[2, rolls[i + 2]] += 1
        counts[3, rolls[i + 3]] += 1


# --- others -------------------------------------------------------------------------------------


def python_flat(rounds: int) -> int:
    """Play flat rounds in plain Python."""
    dice, won = random.Random(1), 0
    for _ in range(rounds):
        a, b, c = dice.randint(1, 6), dice.randint(1, 6), dice.randint(1, 6)
        won += 10 if a + b + c >= 11 and not a == b == c else -10
    return won


def python_martingale(sessions: int) -> int:
    """Play Martingale sessions in plain Python."""
    dice, left = random.Random(1), 0
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
        left += bank
    return left


class Table:
    """A table of the crapssim kind: dice, and players who hold bets as objects."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dice = (1, 1, 1)
        self.player = Player()

    def play(self, rounds: int) -> None:
        """Let the player bet, roll, and settle each bet."""
        for _ in range(rounds):
            self.player.strategy()
            self.dice = (
                self.random.randint(1, 6), self.random.randint(1, 6), self.random.randint(1, 6),
            )  # fmt: skip
            for bet in list(self.player.bets):
                bet.settle(self.player, self.dice)


class Bet:
    """A bet on Big, one object for each time it is made."""

    def __init__(self, amount: float) -> None:
        self.amount = amount

    def settle(self, player: Player, dice: tuple[int, int, int]) -> None:
        """Pay or take the bet."""
        won = sum(dice) >= 11 and len(set(dice)) > 1
        player.bankroll += 2 * self.amount if won else 0.0
        player.bets.remove(self)
        player.amount = 10.0 if won else min(2 * player.amount, 500.0)


class Player:
    """A player with a bankroll, his bets, and a strategy called before each roll."""

    def __init__(self) -> None:
        self.bankroll, self.amount = 1000.0, 10.0
        self.bets: list[Bet] = []

    def strategy(self) -> None:
        """Make the Martingale's next bet."""
        amount = min(self.amount, self.bankroll)
        if amount > 0:
            self.bankroll -= amount
            self.bets.append(Bet(amount))


def objects_martingale(sessions: int) -> None:
    """Play Martingale sessions with an object to each bet."""
    for seed in range(sessions):
        Table(seed).play(200)


def numpy_flat(rounds: int) -> None:
    """Roll in numpy, a million rounds at a time, and count; on every processor."""

    def one(hand: int) -> int:
        dice, won, left = np.random.default_rng(hand), 0, rounds // HANDS
        while left > 0:
            rolls = dice.integers(0, 216, min(left, 10**6), dtype=np.uint8)
            won += int(np.where(rolls < WAYS, 10, -10).sum())
            left -= len(rolls)
        return won

    each_hand(one)()


def numpy_martingale(sessions: int) -> None:
    """Play sessions in numpy, a vector of them side by side; on every processor."""

    def one(hand: int) -> int:
        dice, total, left = np.random.default_rng(hand), 0, sessions // HANDS
        while left > 0:
            many = min(left, 16_384)  # state that stays in the cache suits numpy best
            bank, due = np.full(many, 1000, np.int32), np.full(many, 10, np.int32)
            for _ in range(200):
                stake = np.minimum(due, bank)
                won = dice.integers(0, 216, many, dtype=np.uint8) < WAYS
                bank += np.where(won, stake, -stake)
                due = np.where(won, np.int32(10), np.minimum(2 * due, 500))
            total += int(bank.sum())
            left -= many
        return total

    each_hand(one)()


# --- the table ----------------------------------------------------------------------------------


def flat_rows() -> list[tuple[str, float, str]]:
    """Return who plays flat rounds how fast."""
    rolls = np.random.default_rng(1).integers(0, 216, FLAT_ROUNDS // HANDS, dtype=np.uint8)
    counts = np.zeros((HANDS, 8, 216), np.int64)
    return [
        ("ours: drawn in blocks", rate(FLAT_ROUNDS, ours_flat), "10^8 rounds"),
        (
            "limit: bare counting",
            rate(FLAT_ROUNDS, each_hand(lambda hand: counted(rolls, counts[hand, 0]))),
            "10^8 rolls that are there already",
        ),
        (
            "limit: bare counting, four rows",
            rate(FLAT_ROUNDS, each_hand(lambda hand: counted_apart(rolls, counts[hand, :4]))),
            "the same",
        ),
        ("numpy", rate(FLAT_ROUNDS, lambda: numpy_flat(FLAT_ROUNDS), 3), "10^8 rounds"),
        ("plain Python", rate(10**6, lambda: python_flat(10**6), 3), "10^6 rounds, one processor"),
    ]


def martingale_rows() -> list[tuple[str, float, str]]:
    """Return who plays Martingale rounds how fast."""
    rounds = SESSIONS * 200
    return [
        ("ours: everything counted", rate(rounds, ours_martingale), "10^6 sessions of 200"),
        ("limit: without its generator", rate(rounds, kernel_with((no_philox,))), "the same"),
        ("limit: the generator alone", rate(rounds, kernel_with((fold_word,))), "the same"),
        ("numpy", rate(rounds // 10, lambda: numpy_martingale(SESSIONS // 10), 3), "10^5 sessions"),
        (
            "plain Python",
            rate(2000 * 200, lambda: python_martingale(2000), 3),
            "2,000 sessions, one processor; rounds after ruin counted, though not played",
        ),
        (
            "an object to each bet",
            rate(500 * 200, lambda: objects_martingale(500), 3),
            "500 sessions, one processor",
        ),
    ]


def markdown() -> str:
    """Measure everything and return it as a table."""
    lines = [f"{HANDS} processors; medians of one run. Ratio: ours to theirs.", ""]
    for title, rows in (("Flat rounds", flat_rows()), ("Martingale rounds", martingale_rows())):
        lines += [f"| {title} | rounds per second | ratio | measured on |", "|---|---:|---:|---|"]
        ours = rows[0][1]
        lines += [f"| {who} | {each:.3g} | {ours / each:.3g} | {on} |" for who, each, on in rows]
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    print(markdown())


if __name__ == "__main__":
    main()
