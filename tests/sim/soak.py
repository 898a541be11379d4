"""Compare long simulations with the exact figures: `python -m tests.sim.soak`.

10^9 rounds for every game, and the edges of all its boxes: drawn in blocks, and once more with all
rolls drawn one by one as sessions draw them; sessions of every plan. A z beyond 5 happens once in
two million figures, so that anything found is a defect, and the exit code says so.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from tests.sim.reference import betting_session
from threedice import shipped_games
from threedice.odds import box_figures
from threedice.odds.sessions.plans import PLANS, StakingPlan
from threedice.odds.sessions.session_odds import session_odds
from threedice.rulebook import load
from threedice.sim import flat_study, session_study, table_study
from threedice.sim.jobs import FlatJob, Tally, generator_key
from threedice.sim.kernels.compiler import compile_inline, link
from threedice.sim.kernels.generator import draw_block, first_roll, shift_to_next_roll
from threedice.sim.studies import FlatStudy
from threedice.sim.table_setup import PlannedBet, SimulatedPlayer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threedice.rulebook import Game
    from threedice.sim import Estimate

FARTHEST = 5.0
SIC_BO = "sg-rws-tai-sai-v6/a"


def count_rolls(first: int, sessions: int, k0: Any, k1: Any, rolls: Any) -> None:
    """Count the rolls of sessions, each a block long."""
    for session in range(first, first + sessions):
        words = draw_block(np.uint32(0), np.uint64(session), np.uint32(0), k0, k1)
        for word in words:
            second = shift_to_next_roll(word)
            rolls[first_roll(word)] += 1
            rolls[first_roll(second)] += 1
            rolls[first_roll(shift_to_next_roll(second))] += 1


def tally_single_rolls(rounds: int, seed: int) -> Tally:
    """Count the rolls when all of them are drawn one by one."""
    quick: Any = numba.njit(nogil=True)(link(count_rolls, compile_inline, {}))
    rolls = np.zeros(216, np.int64)
    quick(0, rounds // 12, *generator_key(seed), rolls)
    return Tally(1, {"rolls": rolls.astype(object)})


def compare_boxes(on: Game, rolls: Tally, how: str) -> Iterator[tuple[str, float]]:
    """Yield the z of each box's edge, and of the chi-square of the rolls."""
    study = FlatStudy(on, dict.fromkeys(on.payoffs, 1), FlatJob(1, 0), rolls)
    for box in study.bets:
        exact = float(box_figures(on.box(box)).edge)
        yield f"{on.id} {box}, {how}", z_of(study.box_edge(box), exact)
    yield f"{on.id} chi-square, {how}", (study.chi_square - 215) / 430**0.5


def compare_series(on: Game, rounds: int, seed: int) -> Iterator[tuple[str, float]]:
    """Yield the z of the edge of each box over several throws."""
    for box in on.boxes.values():
        if box.throws > 1:
            seats = [SimulatedPlayer("shooter", (PlannedBet(box.id, box.unit),))]
            long = 20_000
            study = table_study(on, seats, rounds=long, sessions=max(rounds // long, 1), seed=seed)
            # What is down at the end goes back, which hides under one bet in thousands.
            exact = float(box_figures(box).edge)
            yield f"{on.id} {box.id}", z_of(study.hold, exact)


def compare_plans(sessions: int, seed: int) -> Iterator[tuple[str, float]]:
    """Yield the z of the figures of each plan's sessions."""
    for name in PLANS:
        plan = StakingPlan(name, 10, 160)
        exact = session_odds(betting_session(SIC_BO, {"big": 1}, plan, 300, 50), "float64")
        study = session_study(
            load(SIC_BO), plan=name, box="big", bankroll=300, base=10, maximum=160, rounds=50,
            sessions=sessions, seed=seed,
        )  # fmt: skip
        yield f"{name} ruin", z_of(study.ruin, float(exact.ruin))
        yield f"{name} mean final", z_of(study.mean_final, float(exact.mean_final))
        yield f"{name} ahead", z_of(study.ahead, float(exact.ahead))
        yield f"{name} edge", z_of(study.edge, 1 / 36)


def z_of(estimate: Estimate, exact: float) -> float:
    """Return how many standard errors lie between an estimate and the truth."""
    apart = estimate.value - exact
    return (
        apart / estimate.standard_error
        if estimate.standard_error
        else (0.0 if abs(apart) < 1e-12 else 99.0)
    )


def figures(rounds: int, seed: int) -> Iterator[tuple[str, float]]:
    """Yield every figure with its z."""
    singly = tally_single_rolls(rounds, seed)
    for number, name in enumerate(shipped_games()):
        drawn_at_once = flat_study(load(name), {next(iter(load(name).payoffs)): 1}, rounds=rounds,
                                   seed=seed + number).tally  # fmt: skip
        yield from compare_boxes(load(name), drawn_at_once, "in blocks")
        yield from compare_boxes(load(name), singly, "one by one")
        yield from compare_series(load(name), rounds // 100, seed)
    yield from compare_plans(rounds // 50, seed)


def main() -> int:
    """Compare all figures; the exit code is 1 if one is too far off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10**9, help="rounds for every game")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = list(figures(options.rounds, options.seed))
    farthest = sorted(found, key=lambda each: -abs(each[1]))
    out = sys.stdout
    out.write(f"{len(found)} figures over {options.rounds:,} rounds a game; the farthest:\n")
    for name, z in farthest[:8]:
        out.write(f"{z:7.3f}  {name}\n")
    beyond = sum(abs(z) > 1.959964 for _, z in found)
    out.write(f"{beyond} of {len(found)} beyond 1.96, where 1 in 20 is expected\n")
    return int(abs(farthest[0][1]) > FARTHEST)


if __name__ == "__main__":
    sys.exit(main())
