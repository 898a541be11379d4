"""Measure the vectorised environment against one in numpy of the same shape and the same rules.

Run it with `python benchmarks/environments.py`; it needs the extra `research`. Both must give the
same rewards for the same rolls before anything is timed, and take turns. The figures are medians,
in steps of one table per second of one core (processor time, which other load on the machine hardly
affects) and per second of wall time.
"""

from __future__ import annotations

import os
import platform
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from threedice.dice import ROLLS
from threedice.odds.limits import differential_pairs
from threedice.research import BettingVectorEnv
from threedice.sim.table_setup import step_nets

if TYPE_CHECKING:
    from collections.abc import Callable

GAMES = ("crown-and-anchor/main", "sg-rws-tai-sai-v6/a", "sg-rws-tai-sai-v6/e")
TABLES, STEPS, TURNS = 8192, 50, 7
TARGET = 10**6
"""Minimum number of steps per second on two cores."""


class NumpyEnv:
    """The rules of the vectorised environment in numpy, for games without a shooter."""

    def __init__(self, env: BettingVectorEnv) -> None:
        self.terms, self.boxes = env.terms, env.boxes
        game = env.terms.game
        self.nets = np.array([step_nets(box) for box in game.boxes.values()], np.int64).T.copy()
        self.pairs = [(env.boxes.index(a), env.boxes.index(b)) for a, b in differential_pairs(game)]
        self.faces = np.array(ROLLS, np.int64)
        self.rng = np.random.default_rng(1)
        self.bankrolls = np.full(env.num_envs, self.terms.bankroll, np.int64)
        self.rounds_left = np.full(env.num_envs, self.terms.rounds, np.int64)

    def step(self, actions: Any) -> Any:
        """Play a round with random dice."""
        return self.play(actions, self.rng.integers(len(ROLLS), size=len(actions)))

    def play(self, actions: Any, rolls: Any) -> Any:
        """Play a round with these rolls."""
        terms = self.terms
        stakes = np.clip(actions, 0, terms.maximum)
        before = np.cumsum(stakes, axis=1) - stakes
        stakes = np.clip(self.bankrolls[:, None] - before, 0, stakes)
        stakes[stakes < terms.minimum] = 0
        for one, other in self.pairs:
            for box, opposite in ((one, other), (other, one)):
                excess = stakes[:, box] - stakes[:, opposite] - terms.differential
                stakes[:, box] -= np.maximum(excess, 0)
        rewards = np.einsum("ij,ij->i", stakes, self.nets[rolls])
        self.bankrolls += rewards
        self.rounds_left -= 1
        ruined = self.bankrolls < terms.minimum
        truncated = (self.rounds_left <= 0) & ~ruined
        over = ruined | truncated
        self.bankrolls[over], self.rounds_left[over] = terms.bankroll, terms.rounds
        observation = {
            "bankroll": self.bankrolls[:, None].copy(),
            "last_roll": self.faces[rolls],
            "rounds_left": self.rounds_left[:, None].copy(),
        }
        return observation, rewards.astype(np.float64), ruined, truncated, {}


def actions_of(boxes: int, bets: int) -> Any:
    """Return actions with so many bets at each table, of 1 to 10 chips on random boxes."""
    rng = np.random.default_rng(2)
    chosen = rng.random((TABLES, boxes)).argsort(axis=1) < bets
    return rng.integers(1, 11, (TABLES, boxes)) * chosen


def check(env: BettingVectorEnv, other: NumpyEnv, actions: Any) -> None:
    """Raise an error unless both give the same rewards."""
    env.reset()
    rolls = np.random.default_rng(3).integers(len(ROLLS), size=TABLES)
    if not np.array_equal(env.play(actions, rolls)[1], other.play(actions, rolls)[1]):
        raise SystemExit(f"{env.terms.game.id}: the environments disagree")


def rates(
    contenders: dict[str, Callable[[Any], Any]], actions: Any
) -> dict[str, tuple[float, float]]:
    """Return the steps per second of processor time and of wall time, of each contender."""
    clocks = (process_time, perf_counter)
    times: dict[str, list[list[float]]] = {name: [[], []] for name in contenders}
    for _ in range(TURNS):
        for name, step in contenders.items():
            starts = [clock() for clock in clocks]
            for _ in range(STEPS):
                step(actions)
            for each, clock, start in zip(times[name], clocks, starts, strict=True):
                each.append(clock() - start)
    steps = TABLES * STEPS
    return {name: (steps / median(one), steps / median(two)) for name, (one, two) in times.items()}


def main() -> None:
    """Print the figures as a table."""
    print(f"{TABLES} tables, Python {platform.python_version()}, {os.cpu_count()} processors\n")
    print(
        "| game | boxes | bets | steps a second of a core | numpy | ratio | wall time, all cores |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    slowest = float("inf")
    for game in GAMES:
        env = BettingVectorEnv(game, TABLES, bankroll=10**6)
        for bets in sorted({1, 6, len(env.boxes)}):
            actions = actions_of(len(env.boxes), bets)
            reference = NumpyEnv(env)
            check(env, reference, actions)
            found = rates({"ours": env.step, "numpy": reference.step}, actions)
            ours, wall = found["ours"]
            slowest = min(slowest, ours)
            print(
                f"| {game} | {len(env.boxes)} | {bets} | {ours:.2e} | {found['numpy'][0]:.2e} "
                f"| {ours / found['numpy'][0]:.1f}x | {wall:.2e} |"
            )
        env.close()
    print(f"\nslowest: {2 * slowest:.2e} steps a second on two cores; the target is {TARGET:.0e}")


if __name__ == "__main__":
    main()
