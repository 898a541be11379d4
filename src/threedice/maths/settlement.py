"""What bets on a roll are paid, and under which clauses: one cell of the matrix for each bet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput
from threedice.money import Amount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.dice import Roll
    from threedice.money import Odds
    from threedice.rulebook import Game


@dataclass(frozen=True, slots=True)
class Settled:
    """One bet after a roll: `net` is the winnings, or the stake lost as a negative amount."""

    box: str
    stake: Amount
    net: Amount
    odds: Odds | None
    why: str
    clauses: tuple[str, ...]

    @property
    def wins(self) -> bool:
        """Whether the bet won."""
        return self.odds is not None

    @property
    def returned(self) -> Amount:
        """What goes back to the player, the stake of a winning bet included."""
        return Amount(self.stake + self.net)


def settle(game: Game, roll: Roll, bets: Mapping[str, Amount]) -> list[Settled]:
    """Settle bets on a roll, in the order they were given."""
    for box_id, stake in bets.items():
        if type(stake) is not int or stake < 1:
            raise InvalidInput(f"a stake of {stake!r} on {box_id}; stake a whole number above zero")
    return [_settled(game, roll, box_id, stake) for box_id, stake in bets.items()]


def _settled(game: Game, roll: Roll, box_id: str, stake: Amount) -> Settled:
    cell = game.cell(box_id, roll)
    net = cell.odds.winnings(stake) if cell.odds else Amount(-stake)
    return Settled(box_id, stake, net, cell.odds, game.verdict(box_id, roll), cell.clauses)
