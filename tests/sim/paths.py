"""Sessions played by hand: the dice of the generator in plain Python, the plans of `odds`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from threedice.odds.sessions.session import BettingSession
from threedice.odds.stakes import spread
from threedice.rulebook import load
from threedice.sim.jobs import generator_key
from threedice.sim.kernels.generator import draw_block, first_roll, shift_to_next_roll

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.odds.sessions.plans import StakingPlan
    from threedice.rulebook import Game


@dataclass(frozen=True)
class Played:
    """What a session comes to."""

    left: int
    rounds: int
    staked: int
    ending: str


@cache
def game(name: str) -> Game:
    return load(name)


@cache
def rolls(seed: int, session: int, rounds: int, stream: int = 0) -> tuple[int, ...]:
    """Return the first rolls of a session, numbered 0 to 215."""
    found: list[int] = []
    for block in range(-(-rounds // 12)):
        for word in draw_block(block, session, stream, *generator_key(seed)):
            for _ in range(3):
                found.append(int(first_roll(word)))
                word = shift_to_next_roll(word)  # noqa: PLW2901
    return tuple(found[:rounds])


def asked(
    name: str,
    shares: Mapping[str, int],
    plan: StakingPlan,
    bankroll: int,
    rounds: int,
    minimum: int = 0,
    stop_loss: int | None = None,
    stop_win: int | None = None,
) -> BettingSession:
    return BettingSession(
        spread(game(name), shares), plan, bankroll, rounds, minimum, stop_loss, stop_win
    )


def by_hand(session: BettingSession, seed: int, number: int) -> Played:
    """Play one session round by round, as `odds.sessions.plans` says."""
    nets = sorted(session.spread.nets, reverse=True)
    state, left, staked = session.plan.initial_state(), session.bankroll, 0
    for count, roll in enumerate(rolls(seed, number, session.rounds), start=1):
        stake = session.next_stake(state, left)
        net = stake // session.spread.step * nets[roll]
        state, left, staked = session.plan.next_state(state, stake, net), left + net, staked + stake
        ending = session.ending(state, left)
        if ending:
            return Played(left, count, staked, ending)
    return Played(left, session.rounds, staked, "played out")
