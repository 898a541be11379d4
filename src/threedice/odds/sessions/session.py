"""A player's session: bankroll, staking plan, limits and stops, validated.

`plans` defines how it is played, `markov_chain` enumerates its states and propagates their
probabilities, and `session_odds` returns the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from threedice.errors import InvalidInput
from threedice.money import MAX_AMOUNT
from threedice.odds.sessions.plans import PlanState, actual_stake

if TYPE_CHECKING:
    from threedice.odds.sessions.plans import StakingPlan
    from threedice.odds.stakes import Spread

SessionEnding = Literal["ruined", "stop-loss", "stop-win", "played out"]
ENDINGS: Final[tuple[SessionEnding, ...]] = get_args(SessionEnding)
MAX_SESSION_ROUNDS: Final = 100_000


@dataclass(frozen=True, slots=True)
class BettingSession:
    """A bankroll played by a staking plan; without stops it lasts until ruin or the last round.

    `minimum` is the least stake that the table accepts; 0 stands for the spread's step.
    """

    spread: Spread
    plan: StakingPlan
    bankroll: int
    rounds: int
    minimum: int = 0
    stop_loss: int | None = None
    stop_win: int | None = None

    def __post_init__(self) -> None:
        self._check_table()
        self._check_player()

    def _check_table(self) -> None:
        base, step = self.plan.base, self.spread.step
        if base % step:
            raise InvalidInput(
                f"a base stake of {base} on {self.spread} cannot be divided and paid evenly; "
                f"give a multiple of {step}"
            )
        if self.minimum < 0:
            raise InvalidInput(f"a minimum of {self.minimum}; give a whole number above zero")
        if self.minimum > base:
            raise InvalidInput(
                f"the base stake {base} is under the minimum {self.minimum}; "
                "raise the base stake or lower the minimum"
            )

    def _check_player(self) -> None:
        if not 1 <= self.rounds <= MAX_SESSION_ROUNDS:
            raise InvalidInput(f"{self.rounds} rounds; give a whole number to {MAX_SESSION_ROUNDS}")
        if not self.min_stake <= self.bankroll <= MAX_AMOUNT:
            raise InvalidInput(
                f"a bankroll of {self.bankroll}; bring at least {self.min_stake}, the least stake, "
                f"and at most {MAX_AMOUNT}"
            )
        if self.stop_loss is not None and not 1 <= self.stop_loss <= self.bankroll:
            raise InvalidInput(
                f"a stop-loss of {self.stop_loss}; give a loss from 1 to the bankroll "
                f"of {self.bankroll}"
            )
        if self.stop_win is not None and self.stop_win < 1:
            raise InvalidInput(f"a stop-win of {self.stop_win}; give a win of at least 1")

    @property
    def min_stake(self) -> int:
        """Least stake that can be made."""
        return max(self.minimum, self.spread.step)

    def next_stake(self, state: PlanState, bankroll: int) -> int:
        """Return the actual stake in a plan state with a bankroll, 0 if none can be made."""
        return actual_stake(state[0], bankroll, self.min_stake, self.plan.maximum, self.spread.step)

    def ending(self, state: PlanState, bankroll: int) -> SessionEnding | None:
        """Return how a session with this bankroll has ended, None if it continues.

        "played out" is not returned, since it depends on the round.
        """
        if not self.next_stake(state, bankroll):
            return "ruined"
        if self.stop_loss is not None and bankroll <= self.bankroll - self.stop_loss:
            return "stop-loss"
        if self.stop_win is not None and bankroll >= self.bankroll + self.stop_win:
            return "stop-win"
        return None
