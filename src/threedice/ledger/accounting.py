"""Table accounting: what a round or a shift brought, beside what the exact edges expect."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from threedice.maths import box_figures
from threedice.table import events as happened
from threedice.table.state import box_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent


@dataclass(slots=True)
class RoundAccounts:
    """What one round brought: the stakes it decided, the house's win, and what theory expects."""

    turnover: int = 0
    win: int = 0
    theoretical_win: Fraction = Fraction(0)


@dataclass(slots=True)
class Accounts:
    """The figures of a table over some events; `win` is the house's.

    `drop` is all that was changed into chips, from cash and from accounts. A round that was voided
    after it was settled counts for nothing; rulings count for the shift, not for a round.
    """

    opening_float: int = 0
    fills: int = 0
    credits: int = 0
    drop: int = 0
    rulings: int = 0
    by_round: dict[int, RoundAccounts] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """How many rounds were settled and stand."""
        return len(self.by_round)

    @property
    def turnover(self) -> int:
        """All stakes that were decided."""
        return sum(each.turnover for each in self.by_round.values())

    @property
    def win(self) -> int:
        """What the house won."""
        return sum(each.win for each in self.by_round.values()) - self.rulings

    @property
    def theoretical_win(self) -> Fraction:
        """What the exact edges expect the house to win on the turnover."""
        return sum((each.theoretical_win for each in self.by_round.values()), Fraction(0))

    @property
    def hold(self) -> Fraction | None:
        """The win as a share of the drop, where there was any."""
        return Fraction(self.win, self.drop) if self.drop else None


def account(game: Game, events: Iterable[AnyEvent]) -> Accounts:
    """Return the figures of a table over its events."""
    accounts, current = Accounts(), RoundAccounts()
    edges = {box.id: box_figures(box).edge for box in game.boxes.values()}
    for event in events:
        win, played = _played(game, event)
        current.win += win
        current.turnover += sum(stake for _, stake in played)
        current.theoretical_win += sum((edges[box] * stake for box, stake in played), Fraction(0))
        match event:
            case happened.TableOpened():
                accounts.opening_float = event.float_amount
            case happened.FloatFilled():
                accounts.fills += event.amount
            case happened.FloatCredited():
                accounts.credits += event.amount
            case happened.BoughtIn():
                accounts.drop += event.amount
            case happened.RoundStarted():
                current = RoundAccounts()
            case happened.WinnersPaid():
                accounts.by_round[event.round] = current
            case happened.RoundsReversed():
                for number in event.rounds:
                    accounts.by_round.pop(number, None)
            case happened.BetCorrected():
                accounts.by_round[event.round].win -= event.amount
            case happened.RulingMade():
                accounts.rulings += event.amount
            case _:
                pass
    return accounts


def _played(game: Game, event: AnyEvent) -> tuple[int, list[tuple[str, int]]]:
    """Return what an event brought the house, and which stakes it decided."""
    shooter = game.facts.shooter
    match event:
        case happened.LosersCollected():
            lost = [(box_of(spot), amount) for spot, _, amount in event.bets]
            return sum(amount for _, amount in lost), lost
        case happened.WinnersPaid():
            won = [(box_of(spot), stake) for spot, _, stake, _ in event.bets]
            return -sum(winnings for *_, winnings in event.bets), won
        case happened.ShooterWon() if shooter:
            return -event.winnings, [(shooter.box, event.stake)]
        case happened.ShooterLost() if shooter:
            return event.stake, [(shooter.box, event.stake)]
        case _:
            return 0, []
