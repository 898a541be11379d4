"""Apply postings to balances, and sum a table's events into drop, turnover, win and hold.

Balances as a fold over postings, and the accounts that may not go below zero.

What an event adds to balances: its postings, applied.

Bets and their settlement are nearly all that is ever posted. They are added here without making
their postings first; wherever anything would have to be refused, the postings are made after all,
and `Balances.post` says which. A test ties the two ways together, event by event.

Table accounting: what a round or a shift brought, beside what the exact edges expect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from threedice.errors import InvariantBroken
from threedice.ledger.postings import table_postings
from threedice.odds import box_figures
from threedice.table import events
from threedice.table import events as table_events
from threedice.table.limits import box_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from threedice.ledger.postings import Posting
    from threedice.rulebook import Game
    from threedice.table.events import AnyEvent


_NON_NEGATIVE_ACCOUNTS = ("cash", "float", "layout", "stack/")


class Balances(dict[str, int]):
    """What is in each account; posting to them keeps their sum at zero."""

    def post(self, postings: Iterable[Posting]) -> None:
        """Apply the postings of one event, refusing any that breaks what must always hold."""
        for source, destination, amount in postings:
            if amount < 0:
                raise InvariantBroken(f"a posting of {amount} from {source} to {destination}")
            self[source] = self.get(source, 0) - amount
            self[destination] = self.get(destination, 0) + amount
            if self[source] < 0 and source.startswith(_NON_NEGATIVE_ACCOUNTS):
                raise InvariantBroken(f"{source} went below zero, to {self[source]}")


EVENTS_WITHOUT_POSTINGS: Final[frozenset[type[AnyEvent]]] = frozenset(
    {
        events.RoundStarted,
        events.BettingOpened,
        events.BettingClosed,
        events.StepTaken,
        events.DiceTumbled,
        events.ResultCalled,
        events.KeyPressed,
        events.ResultEntered,
        events.AreasLit,
    }
)
"""What happens in every round and moves no money."""


def post_event(balances: Balances, event: AnyEvent) -> None:
    """Apply the postings of an event, refusing any that breaks what must always hold."""
    if type(event) in EVENTS_WITHOUT_POSTINGS:
        return
    match event:
        case events.BetPlaced():
            added = _post_bet(balances, event)
        case events.LosersCollected():
            added = _post_losses(balances, event)
        case events.WinnersPaid():
            added = _post_wins(balances, event)
        case _:
            added = False
    if not added:
        balances.post(table_postings(event))


def _post_bet(balances: Balances, event: events.BetPlaced) -> bool:
    stack, amount = f"stack/{event.player}", event.amount
    left = balances.get(stack, 0) - amount
    if amount <= 0 or left < 0:
        return False
    balances[stack] = left
    balances["layout"] = balances.get("layout", 0) + amount
    return True


def _post_losses(balances: Balances, event: events.LosersCollected) -> bool:
    amounts = [amount for _, _, amount in event.bets]
    lost, layout = sum(amounts), balances.get("layout", 0)
    if not 0 < lost <= layout or min(amounts) < 0:
        return False
    balances["layout"] = layout - lost
    balances["float"] = balances.get("float", 0) + lost
    return True


def _post_wins(balances: Balances, event: events.WinnersPaid) -> bool:
    if not event.bets:
        return True
    _, players, stakes, gains = zip(*event.bets, strict=True)
    staked, won, get = sum(stakes), sum(gains), balances.get
    layout, chips = get("layout", 0), get("float", 0)
    if staked > layout or won > chips or min(stakes) <= 0 or min(gains) <= 0:
        return False
    balances["layout"], balances["float"] = layout - staked, chips - won
    for player, stake, winnings in zip(players, stakes, gains, strict=True):
        stack = f"stack/{player}"
        balances[stack] = get(stack, 0) + stake + winnings
    return True


@dataclass(slots=True)
class RoundFigures:
    """What one round brought: the stakes it decided, the house's win, and what theory expects."""

    turnover: int = 0
    win: int = 0
    theoretical_win: Fraction = Fraction(0)


@dataclass(slots=True)
class TableFigures:
    """The figures of a table over some events; `win` is the house's.

    `drop` is all that was changed into chips, from cash and from accounts. A round that was voided
    after it was settled counts for nothing; rulings count for the shift, not for a round.
    """

    opening_float: int = 0
    fills: int = 0
    credits: int = 0
    drop: int = 0
    rulings: int = 0
    by_round: dict[int, RoundFigures] = field(default_factory=dict)

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


def compute_table_figures(game: Game, events: Iterable[AnyEvent]) -> TableFigures:
    """Return the figures of a table over its events."""
    accounts, current = TableFigures(), RoundFigures()
    edges = {box.id: box_figures(box).edge for box in game.boxes.values()}
    for event in events:
        win, played = _settled_stakes(game, event)
        current.win += win
        current.turnover += sum(stake for _, stake in played)
        current.theoretical_win += sum((edges[box] * stake for box, stake in played), Fraction(0))
        match event:
            case table_events.TableOpened():
                accounts.opening_float = event.float_amount
            case table_events.FloatFilled():
                accounts.fills += event.amount
            case table_events.FloatCredited():
                accounts.credits += event.amount
            case table_events.BoughtIn():
                accounts.drop += event.amount
            case table_events.RoundStarted():
                current = RoundFigures()
            case table_events.WinnersPaid():
                accounts.by_round[event.round] = current
            case table_events.RoundsReversed():
                for number in event.rounds:
                    accounts.by_round.pop(number, None)
            case table_events.BetCorrected():
                accounts.by_round[event.round].win -= event.amount
            case table_events.RulingMade():
                accounts.rulings += event.amount
            case _:
                pass
    return accounts


def _settled_stakes(game: Game, event: AnyEvent) -> tuple[int, list[tuple[str, int]]]:
    """Return what an event brought the house, and which stakes it decided."""
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
