"""Rounds at a table of the library, for players whose stakes arrive as arrays of chips.

The environments for one and for several players, and the states with chance nodes, play here. Every
bet and every step is a command to `threedice.table`, so limits, the differential, pro rata and the
shooter's bet are those of the rulebook.
"""

from __future__ import annotations

from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from threedice.dice import ROLLS
from threedice.errors import InvalidInput, Refusal
from threedice.research.terms import CHIP
from threedice.table import Table, commands, events
from threedice.table.limits import remaining_room, stake_step
from threedice.table.money import table_postings
from threedice.table.usual_steps import SUPERVISOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from threedice.research.terms import TableTerms
    from threedice.table.limits import LimitMode, PlayerId

STAND_IN: Final = "stand-in"
"""The player who throws the dice, with the minimum bet, when no other player takes them."""
FLOAT: Final = 10**12
"""The initial float; a float below half of it is filled before a round."""


class TableRounds:
    """A table with its players, between and within rounds.

    A stake is a request. The player puts down as much of it as the table takes: at most the
    maximum, in mode "refuse" at most the room that is left in a box, at most the player's stack, in
    multiples of the unit of payment, and nothing below the minimum.
    """

    def __init__(
        self, terms: TableTerms, players: Sequence[PlayerId], mode: LimitMode = "refuse"
    ) -> None:
        self.terms, self.players, self.mode = terms, tuple(players), mode
        self.game = terms.game
        self.table = Table(self.game, terms.limits, chips=(CHIP,), float_amount=FLOAT, mode=mode)
        for player in players:
            self.table.buy_in(player, terms.bankroll)

    def clone(self) -> TableRounds:
        """Return an independent copy."""
        twin = copy(self)
        twin.table = copy(self.table)
        twin.table.state = deepcopy(self.table.state)
        twin.table.history = list(self.table.history)
        return twin

    # --- players --------------------------------------------------------------------------------

    def stack(self, player: PlayerId) -> int:
        """Return a player's chips that are not on the layout."""
        return self.table.state.seats[player].stack

    def wealth(self, player: PlayerId) -> int:
        """Return a player's chips, bets included: they are the player's until they are lost."""
        seat = self.table.state.seats[player]
        return seat.stack + seat.at_risk

    def is_ruined(self, player: PlayerId) -> bool:
        """Return whether a player has no bet on the layout, and too few chips for one."""
        seat = self.table.state.seats[player]
        return not seat.at_risk and seat.stack < self.terms.minimum

    # --- the shooter ----------------------------------------------------------------------------

    @property
    def shooter_box(self) -> str:
        """The box that only the shooter may bet on, or nothing."""
        return self.game.facts.shooter.box if self.game.facts.shooter else ""

    @property
    def throws(self) -> int:
        """The throws that the shooter's series has won so far."""
        shooter = self.table.state.shooter
        return shooter.throws if shooter else 0

    @property
    def has_shooter_bet(self) -> bool:
        """True if a shooter's bet is on the layout."""
        shooter = self.table.state.shooter
        return shooter is not None and shooter.stake > 0

    def shooter_stake(self, player: PlayerId) -> int:
        """Return a player's own bet as the shooter."""
        shooter = self.table.state.shooter
        return shooter.stake if shooter and shooter.player == player else 0

    def offer_dice(self, player: PlayerId) -> None:
        """Offer the dice to a player; the stand-in first buys the chips of the minimum bet."""
        if player == STAND_IN:
            self.table.buy_in(STAND_IN, self.terms.minimum)
        self.table.offer_dice(player)

    # --- a round --------------------------------------------------------------------------------

    def open(self, shooter: PlayerId = STAND_IN) -> None:
        """Open betting; where a new series begins, the dice are offered to this player."""
        self.table.history.clear()
        short = FLOAT - self.table.state.float_amount
        if short > FLOAT // 2:
            self.table.send(commands.FillFloat(by=SUPERVISOR, amount=short))
        if self.shooter_box and not self.has_shooter_bet:
            self.offer_dice(shooter)
        self.table.open_betting()

    def possible_stake(self, player: PlayerId, box_id: str, requested: int) -> int:
        """Return how much of a stake the table takes from a player now."""
        state, limits = self.table.state, self.terms.limits.for_box(box_id)
        room = limits.maximum
        if self.mode == "refuse" and box_id != self.shooter_box:
            room = remaining_room(self.game, state, box_id, player)
        stake = min(requested, room, self.stack(player))
        stake -= stake % stake_step(self.game.boxes[box_id], state.chips)
        return stake if stake >= limits.minimum else 0

    def place(self, player: PlayerId, stakes: Mapping[str, int]) -> dict[str, int]:
        """Place stakes by box, the shooter's bet first, and return what the table took."""
        placed = {}
        for box_id in sorted(stakes, key=lambda box: box != self.shooter_box):
            stake = self.possible_stake(player, box_id, stakes[box_id])
            if stake and self._is_accepted(player, box_id, stake):
                placed[box_id] = stake
        return placed

    def _is_accepted(self, player: PlayerId, box_id: str, stake: int) -> bool:
        """Place a bet; return False if the rulebook forbids it to this player now."""
        try:
            self.table.bet(player, box_id, stake)
        except Refusal:
            return False
        return True

    def choose_shooter(
        self, candidates: Iterable[PlayerId], stakes: Mapping[PlayerId, Mapping[str, int]]
    ) -> PlayerId:
        """Return the first player who stakes enough for the shooter's bet, or the stand-in."""
        box = self.shooter_box
        for player in candidates:
            if box and self.possible_stake(player, box, stakes[player].get(box, 0)):
                return player
        return STAND_IN

    def roll(self, index: int) -> None:
        """Close betting and play the round to its end with the roll of this index."""
        shooter = self.table.state.shooter
        if self.shooter_box and not self.has_shooter_bet:
            if shooter is None or shooter.player != STAND_IN:
                self.offer_dice(STAND_IN)
            self.table.bet(STAND_IN, self.shooter_box, self.terms.minimum)
        self.table.close_betting()
        self.table.roll(*ROLLS[index])

    def returned(self, player: PlayerId) -> int:
        """Return the chips that limits gave back to a player in the last round."""
        return sum(
            posting.amount
            for event in self.table.history
            if isinstance(event, events.BetRejected | events.BetsApportioned)
            for posting in table_postings(event)
            if posting.player == player
        )


def requested_stakes(boxes: Sequence[str], action: Any) -> dict[str, int]:
    """Return the stakes above zero of an action, by box."""
    chips = as_stakes(action, (len(boxes),)).tolist()
    return {box: stake for box, stake in zip(boxes, chips, strict=True) if stake > 0}


def as_stakes(action: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return an action as an array of this shape; raise InvalidInput if it is not one."""
    stakes = np.asarray(action)
    if stakes.dtype.kind not in "iu":
        raise InvalidInput(f"stakes of the type {stakes.dtype}; give whole numbers of chips")
    if stakes.shape != shape:
        raise InvalidInput(
            f"stakes of the shape {stakes.shape}; give {shape}: one stake for each box"
            + (", one row for each table" if len(shape) > 1 else "")
        )
    return np.ascontiguousarray(stakes, np.int64)
