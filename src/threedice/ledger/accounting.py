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
class Accounts:
    """The figures of a table over some events; `win` is the house's."""

    opening_float: int = 0
    fills: int = 0
    credits: int = 0
    drop: int = 0
    rounds: int = 0
    turnover: int = 0
    win: int = 0
    theoretical_win: Fraction = Fraction(0)
    rounds_win: dict[int, int] = field(default_factory=dict)

    @property
    def hold(self) -> Fraction | None:
        """The win as a share of the drop, where there was any."""
        return Fraction(self.win, self.drop) if self.drop else None


def account(game: Game, events: Iterable[AnyEvent]) -> Accounts:
    """Return the figures of a table over its events."""
    accounts = Accounts()
    edges = {box.id: box_figures(box).edge for box in game.boxes.values()}
    round_win = 0
    for event in events:
        win, played = _played(game, event)
        accounts.win += win
        round_win += win
        for box, stake in played:
            accounts.turnover += stake
            accounts.theoretical_win += edges[box] * stake
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
                round_win = 0
            case happened.WinnersPaid():
                accounts.rounds += 1
                accounts.rounds_win[event.round] = round_win
            case happened.RoundsReversed():
                accounts.rounds_win.update(dict.fromkeys(event.rounds, 0))
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
        case happened.RoundsReversed():
            return -sum(amount for _, amount in event.transfers), []
        case happened.BetCorrected() | happened.RulingMade():
            return -event.amount, []
        case _:
            return 0, []
