"""Entry point for simulations: build a job from a game and its bets, run it, return a study.

The command line uses the same functions. Bets, plans and limits are checked before any work starts.
"""

from __future__ import annotations

from collections import Counter
from math import gcd
from typing import TYPE_CHECKING, Final

from threedice.errors import InvalidInput
from threedice.odds.sessions.plans import PLANS, StakingPlan
from threedice.odds.sessions.session import BettingSession
from threedice.odds.stakes import Mix, spread
from threedice.sim.jobs import FlatJob, SessionJob, check_seed
from threedice.sim.kernels.plans import check_compiles, check_plan_in_python, read_own_plan
from threedice.sim.runner import check_memory, run_job, thread_pool
from threedice.sim.session_terms import MAX_AMOUNT_GRAINS, Terms
from threedice.sim.studies import FlatStudy, SessionStudy, TableStudy
from threedice.sim.table_setup import SimulatedPlayer, table_job

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from threedice.rulebook import Game

MAX_ROUNDS: Final = 10**18
MAX_SESSIONS: Final = 10**18

Study = SessionStudy | FlatStudy | TableStudy


def session_job(
    game: Game,
    *,
    plan: str,
    box: str | Mapping[str, int],
    bankroll: int,
    base: int,
    rounds: int,
    sessions: int,
    minimum: int = 0,
    maximum: int | None = None,
    stop_loss: int | None = None,
    stop_win: int | None = None,
    line: Sequence[int] = (1, 2, 3, 4),
    seed: int = 1,
    paths: bool = True,
) -> SessionJob:
    """Return the job of sessions under a staking plan, built in or given as FILE.py:FUNCTION."""
    check_seed(seed)
    if not 1 <= sessions <= MAX_SESSIONS:
        raise InvalidInput(f"{sessions} sessions; play at least one, and 10^18 at most")
    own_plan = None if plan in PLANS or ":" not in plan else read_own_plan(plan)
    shares = {box: 1} if isinstance(box, str) else dict(box)
    stake_spread = spread(game, shares)
    step = stake_spread.step
    grain = 1 if own_plan or step > 1 else gcd(bankroll, base)
    max_stake = maximum
    if max_stake is None:
        # For impossible terms this is not a valid stake; `BettingSession` below reports the reason.
        countable = max_countable_stake(bankroll // grain, max(rounds, 1), max(stake_spread.nets))
        max_stake = max(countable * grain // base * base, base) if base > 0 else 1
    # These two validate the input; of a user's own plan only the stakes can be checked.
    staking_plan = StakingPlan("flat" if own_plan else plan, base, max_stake, tuple(line))
    session = BettingSession(
        stake_spread, staking_plan, bankroll, rounds, minimum, stop_loss, stop_win
    )
    terms = Terms(
        plan,
        bankroll,
        base,
        -(-session.min_stake // step) * step,
        max_stake,
        rounds,
        tuple(sorted(Counter(stake_spread.nets).items(), reverse=True)),
        step,
        stop_loss,
        stop_win,
        tuple(line),
        paths,
    )
    if own_plan:
        check_plan_in_python(own_plan, terms)
        check_compiles(own_plan)
    job = SessionJob(terms, sessions, seed, own_plan, str(stake_spread))
    check_memory(job)
    return job


def max_countable_stake(bankroll: int, rounds: int, best_net: int) -> int:
    """Return the maximum stake, in grains, that cannot overflow the kernel's counters."""
    return max(
        min(
            (MAX_AMOUNT_GRAINS - bankroll) // (2 * max(best_net, 1) + 2),
            MAX_AMOUNT_GRAINS // rounds,
            MAX_AMOUNT_GRAINS // 5,
        ),
        1,
    )


def flat_job(bets: Mapping[str, int], game: Game, *, rounds: int, seed: int = 1) -> FlatJob:
    """Return the job of rounds with the same bets in each."""
    check_seed(seed)
    if not 1 <= rounds <= MAX_ROUNDS:
        raise InvalidInput(f"{rounds} rounds; give a whole number from 1 to 10^18")
    Mix(game, bets)
    return FlatJob(rounds, seed)


def session_study(
    game: Game,
    *,
    plan: str,
    box: str | Mapping[str, int],
    bankroll: int,
    base: int,
    rounds: int,
    sessions: int = 100_000,
    minimum: int = 0,
    maximum: int | None = None,
    stop_loss: int | None = None,
    stop_win: int | None = None,
    line: Sequence[int] = (1, 2, 3, 4),
    seed: int = 1,
    thread_count: int | None = None,
    device: str = "cpu",
) -> SessionStudy:
    """Simulate sessions of a player under a staking plan.

    >>> from threedice.rulebook import load
    >>> study = session_study(
    ...     load("sg-rws-tai-sai-v6/a"), plan="martingale", box="big", bankroll=1000, base=10,
    ...     maximum=500, rounds=200, sessions=20_000, seed=8,
    ... )
    >>> study.ruin.is_consistent_with(0.469143625154827)
    True
    >>> study.mean_final.is_consistent_with(855.0484019)
    True
    """
    job = session_job(
        game, plan=plan, box=box, bankroll=bankroll, base=base, rounds=rounds, sessions=sessions,
        minimum=minimum, maximum=maximum, stop_loss=stop_loss, stop_win=stop_win, line=line,
        seed=seed, paths=device == "cpu",
    )  # fmt: skip
    with thread_pool(thread_count, device) as pool:
        return SessionStudy(job, run_job(job, pool))


def flat_study(
    game: Game,
    bets: Mapping[str, int],
    *,
    rounds: int,
    seed: int = 1,
    thread_count: int | None = None,
) -> FlatStudy:
    """Simulate rounds with the same bets in each.

    >>> from threedice.rulebook import load
    >>> study = flat_study(load("sg-rws-tai-sai-v6/a"), {"big": 10}, rounds=10**9, seed=5)
    >>> study.edge.is_consistent_with(1 / 36), study.rounds
    (True, 1000000000)
    """
    job = flat_job(bets, game, rounds=rounds, seed=seed)
    with thread_pool(thread_count) as pool:
        return FlatStudy(game, dict(bets), job, run_job(job, pool))


def table_study(
    game: Game,
    players: Sequence[SimulatedPlayer],
    *,
    rounds: int,
    sessions: int,
    minimum: int = 1,
    maximum: int | None = None,
    differential: int | None = None,
    seed: int = 1,
    thread_count: int | None = None,
) -> TableStudy:
    """Simulate sessions of a table with several players."""
    job = table_job(
        game, players, rounds=rounds, sessions=sessions, minimum=minimum, maximum=maximum,
        differential=differential, seed=seed,
    )  # fmt: skip
    with thread_pool(thread_count) as pool:
        return TableStudy(game, tuple(players), job, run_job(job, pool))
