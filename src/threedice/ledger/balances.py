"""Apply postings to balances, and sum a table's events into drop, turnover, win and hold.

Nearly all postings come from bets and their settlement. `post_event` applies these without building
the postings first; if anything would be refused, it falls back to `Balances.post`, which raises the
error. A test compares both paths event by event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from threedice.errors import InvariantBroken
from threedice.ledger.postings import table_postings
from threedice.odds import box_figures
from threedice.table import events as table_events
from threedice.table.limits import box_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.ledger.postings import Posting
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent


_NON_NEGATIVE_ACCOUNTS = ("cash", "float", "layout", "stack/")


class Balances(dict[str, int]):
    """The balance of each account; postings keep their sum at zero."""

    def post(self, postings: Iterable[Posting]) -> None:
        """Apply the postings of one event.

        Raises `InvariantBroken` for a negative amount, and when a table's cash, float or layout or
        a player's stack goes below zero.
        """
        for source, destination, amount in postings:
            if amount < 0:
                raise InvariantBroken(f"a posting of {amount} from {source} to {destination}")
            self[source] = self.get(source, 0) - amount
            self[destination] = self.get(destination, 0) + amount
            if self[source] < 0 and source.startswith(_NON_NEGATIVE_ACCOUNTS):
                raise InvariantBroken(f"{source} went below zero, to {self[source]}")


EVENTS_WITHOUT_POSTINGS: Final[frozenset[type[AnyEvent]]] = frozenset(
    {
        table_events.RoundStarted,
        table_events.BettingOpened,
        table_events.BettingClosed,
        table_events.StepTaken,
        table_events.DiceTumbled,
        table_events.ResultCalled,
        table_events.KeyPressed,
        table_events.ResultEntered,
        table_events.AreasLit,
    }
)
"""Events of every round that move no money."""


def post_event(balances: Balances, event: AnyEvent) -> None:
    """Apply the postings of a table's event; raises as `Balances.post` does."""
    if type(event) in EVENTS_WITHOUT_POSTINGS:
        return
    match event:
        case table_events.BetPlaced():
            posted = _post_bet(balances, event)
        case table_events.LosersCollected():
            posted = _post_losses(balances, event)
        case table_events.WinnersPaid():
            posted = _post_wins(balances, event)
        case _:
            posted = False
    if not posted:
        balances.post(table_postings(event))


def _post_bet(balances: Balances, event: table_events.BetPlaced) -> bool:
    stack, amount = f"stack/{event.player}", event.amount
    remaining = balances.get(stack, 0) - amount
    if amount <= 0 or remaining < 0:
        return False
    balances[stack] = remaining
    balances["layout"] = balances.get("layout", 0) + amount
    return True


def _post_losses(balances: Balances, event: table_events.LosersCollected) -> bool:
    amounts = [amount for _, _, amount in event.bets]
    lost, layout = sum(amounts), balances.get("layout", 0)
    if not 0 < lost <= layout or min(amounts) < 0:
        return False
    balances["layout"] = layout - lost
    balances["float"] = balances.get("float", 0) + lost
    return True


def _post_wins(balances: Balances, event: table_events.WinnersPaid) -> bool:
    if not event.bets:
        return True
    _, players, stakes, winnings = zip(*event.bets, strict=True)
    total_stakes, total_winnings, get = sum(stakes), sum(winnings), balances.get
    layout, chips = get("layout", 0), get("float", 0)
    if total_stakes > layout or total_winnings > chips or min(stakes) <= 0 or min(winnings) <= 0:
        return False
    balances["layout"], balances["float"] = layout - total_stakes, chips - total_winnings
    for player, stake, won in zip(players, stakes, winnings, strict=True):
        stack = f"stack/{player}"
        balances[stack] = get(stack, 0) + stake + won
    return True


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

    opening_float: int = 0
    fills: int = 0
    credits: int = 0
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
            case table_events.TableOpened():
                figures.opening_float = event.float_amount
            case table_events.FloatFilled():
                figures.fills += event.amount
            case table_events.FloatCredited():
                figures.credits += event.amount
            case table_events.BoughtIn():
                figures.drop += event.amount
            case table_events.RoundStarted():
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
        case table_events.WinnersPaid():
            won = [(box_of(spot), stake) for spot, _, stake, _ in event.bets]
            return -sum(winnings for *_, winnings in event.bets), won
        case table_events.ShooterWon() if shooter:
            return -event.winnings, [(shooter.box, event.stake)]
        case table_events.ShooterLost() if shooter:
            return event.stake, [(shooter.box, event.stake)]
        case _:
            return 0, []
