"""A table's drop, turnover, win and hold, summed event by event and independent of statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from threedice.odds import box_figures
from threedice.table import events as table_events
from threedice.table.limits import box_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent


@dataclass(slots=True)
class RoundFigures:
    """One round's turnover (stakes decided), the house's win, and its theoretical win."""

    turnover: int = 0
    win: int = 0
    theoretical_win: Fraction = Fraction(0)


@dataclass(slots=True)
class TableFigures:
    """A table's figures over a sequence of events; `win` is the house's.

    `drop` is everything changed into chips, from cash and from accounts. A round voided after its
    settlement counts for nothing. Rulings count for the shift, not for a round.
    """

    drop: int = 0
    rulings: int = 0
    by_round: dict[int, RoundFigures] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """The number of rounds settled and not reversed."""
        return len(self.by_round)

    @property
    def turnover(self) -> int:
        """The sum of all stakes decided."""
        return sum(each.turnover for each in self.by_round.values())

    @property
    def win(self) -> int:
        """The house's win, less what rulings paid."""
        return sum(each.win for each in self.by_round.values()) - self.rulings

    @property
    def theoretical_win(self) -> Fraction:
        """The win on this turnover by the exact house edges."""
        return sum((each.theoretical_win for each in self.by_round.values()), Fraction(0))

    @property
    def hold(self) -> Fraction | None:
        """The win as a share of the drop; None without a drop."""
        return Fraction(self.win, self.drop) if self.drop else None


def compute_table_figures(game: Game, events: Iterable[AnyEvent]) -> TableFigures:
    """Sum a table's events into its figures."""
    figures, current = TableFigures(), RoundFigures()
    edges = {box.id: box_figures(box).edge for box in game.boxes.values()}
    for event in events:
        win, stakes = _decided_stakes(game, event)
        current.win += win
        current.turnover += sum(stake for _, stake in stakes)
        current.theoretical_win += sum((edges[box] * stake for box, stake in stakes), Fraction(0))
        match event:
            case table_events.BoughtIn():
                figures.drop += event.amount
            case table_events.RoundStarted() | table_events.ThrowRepeated():
                current = RoundFigures()
            case table_events.WinnersPaid():
                figures.by_round[event.round] = current
            case table_events.RoundsReversed():
                for number in event.rounds:
                    figures.by_round.pop(number, None)
            case table_events.BetCorrected():
                figures.by_round[event.round].win -= event.amount
            case table_events.RulingMade():
                figures.rulings += event.amount
            case _:
                pass
    return figures


def _decided_stakes(game: Game, event: AnyEvent) -> tuple[int, list[tuple[str, int]]]:
    """Return the house's win from an event, and the (box, stake) pairs it decided."""
    shooter = game.facts.shooter
    match event:
        case table_events.LosersCollected():
            lost = [(box_of(spot), amount) for spot, _, amount in event.bets]
            return sum(amount for _, amount in lost), lost
        case table_events.AreaPaid() | table_events.WinnersPaid():
            won = [(box_of(spot), stake) for spot, _, stake, _ in event.bets]
            return -sum(winnings for *_, winnings in event.bets), won
        case table_events.ShooterWon() if shooter:
            return -event.winnings, [(shooter.box, event.stake)]
        case table_events.ShooterLost() if shooter:
            return event.stake, [(shooter.box, event.stake)]
        case _:
            return 0, []
