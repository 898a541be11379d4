"""A table in memory, played by method calls: what a house does with commands, without a house.

>>> from threedice import Table
>>> table = Table("sg-rws-tai-sai-v6/a", limits=(50, 1000))
>>> table.buy_in("ann", 1000)
>>> table.open_betting()
>>> table.bet("ann", "big", 100)
>>> table.roll(6, 5, 4)
>>> table.stacks
{'ann': 1100}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from threedice.notebook import html_table
from threedice.rulebook import Game, load
from threedice.rulebook.felt_picture import felt_picture
from threedice.table import commands
from threedice.table.commands import Actor
from threedice.table.decide import decide
from threedice.table.evolve import evolve
from threedice.table.explanation import BetRef, explain
from threedice.table.limits import TableLimits, uniform_limits
from threedice.table.prose import describe_events
from threedice.table.state import TableState
from threedice.table.usual_steps import (
    ADULT_YEARS,
    DEALER,
    SUPERVISOR,
    commands_before,
    rest_of_round,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from threedice.table.commands import AnyCommand
    from threedice.table.events import AnyEvent
    from threedice.table.limits import LimitMode, PlayerId, Spot

NO_CURRENCY: Final = "XXX"
"""The code of ISO 4217 for amounts in no currency."""


class Table:
    """An open table of a game, with its opening checks passed.

    Every method sends commands to `decide`, as a house does, and applies the events to `state`;
    `history` has all events. A command that the rules do not permit raises `Refusal` with its code,
    clauses and facts, and changes nothing; of a method that takes several steps, the steps before
    it stay taken. A table is pure: no clock, no disk, no random numbers.
    """

    def __init__(
        self,
        game: Game | str,
        limits: tuple[int, int] | TableLimits = (5, 10_000),
        *,
        differential: int | None = None,
        chips: Sequence[int] = (5, 25, 100),
        float_amount: int = 1_000_000,
        mode: LimitMode = "record",
        currency: str = NO_CURRENCY,
    ) -> None:
        """Open the table.

        `limits` are the minimum and maximum of every box, or limits by family and box, and
        `differential` the maximum differential of every pair where the rulebook has one; it is the
        maximum if omitted. All amounts are in minor units. With the mode "refuse", bets that break
        a limit are refused at once, as at electronic tables.
        """
        self.game = load(game) if isinstance(game, str) else game
        self.state = TableState()
        self.history: list[AnyEvent] = []
        if not isinstance(limits, TableLimits):
            limits = uniform_limits(self.game, *limits, differential)
        self.send(
            commands.OpenTable(
                by=SUPERVISOR,
                table="table",
                currency=currency,
                mode=mode,
                chips=list(chips),
                float_amount=float_amount,
                limits=limits,
            ),
            *(commands.PassCheck(by=SUPERVISOR, check=each) for each in self.game.facts.opening),
        )

    def send(self, *sent: AnyCommand) -> None:
        """Decide commands of `threedice.table.commands` one by one, and apply their events."""
        self._send_each(sent)

    def _send_each(self, sent: Iterable[AnyCommand]) -> None:
        """Decide commands; an iterator is advanced after the events of the one before."""
        for command in sent:
            for event in decide(self.game, self.state, command):
                evolve(self.state, event)
                self.history.append(event)

    # --- players --------------------------------------------------------------------------------

    def buy_in(self, player: PlayerId, amount: int, *, age_years: int = ADULT_YEARS) -> None:
        """Change a player's cash into chips."""
        by = self._player(player)
        self.send(commands.BuyIn(by=by, player=player, amount=amount, age_years=age_years))

    def cash_out(self, player: PlayerId, amount: int) -> None:
        """Let a player take chips away from the table."""
        self.send(commands.CashOut(by=self._player(player), player=player, amount=amount))

    def bet(self, player: PlayerId, box: str, amount: int, *, area: str = "") -> None:
        """Put a player's chips on a box; `area` where the layout has several for it."""
        by = self._player(player)
        self.send(commands.PlaceBet(by=by, player=player, box=box, amount=amount, area=area))

    def withdraw(self, player: PlayerId, box: str, amount: int, *, area: str = "") -> None:
        """Take a player's chips back from a box."""
        by = self._player(player)
        self.send(commands.WithdrawBet(by=by, player=player, box=box, amount=amount, area=area))

    def _player(self, player: PlayerId) -> Actor:
        shooter = self.state.shooter
        is_shooter = shooter is not None and shooter.player == player
        return Actor(id=player, role="shooter" if is_shooter else "player")

    # --- the round ------------------------------------------------------------------------------

    def offer_dice(self, player: PlayerId, dice: Sequence[int] = (1, 2, 3)) -> None:
        """Make a player the shooter, who chooses dice by number from those offered."""
        offer = commands.OfferDice(by=DEALER, player=player)
        shooter = Actor(id=player, role="shooter")
        self.send(offer, commands.ChooseDice(by=shooter, dice=list(dice)))

    def open_betting(self) -> None:
        """Take the dealer's steps before betting, and open it."""
        self._send_each(commands_before(self.game, self.state, "open-betting"))
        self.send(commands.OpenBetting(by=DEALER))

    def close_betting(self) -> None:
        """Close betting."""
        self.send(commands.CloseBetting(by=DEALER))

    def roll(self, *faces: str | int) -> None:
        """Play the rest of the round, in which the dice show these faces, by name or number."""
        dice = self.game.roll([str(face) for face in faces])
        self._send_each(rest_of_round(self.game, self.state, dice))

    # --- results --------------------------------------------------------------------------------

    @property
    def stacks(self) -> dict[PlayerId, int]:
        """The chips of each player at the table, without those on the layout."""
        return {player: seat.stack for player, seat in self.state.seats.items()}

    @property
    def bets(self) -> dict[PlayerId, dict[str, int]]:
        """The bets that lie on the layout, by player and box."""
        found: dict[PlayerId, dict[str, int]] = {}
        for spot, bets in self.state.round.bets.items() if self.state.round else ():
            for player, bet in bets.items():
                found.setdefault(player, {})[spot] = bet.total
        return found

    def explain(self, player: PlayerId, box: str, round_number: int | None = None) -> list[str]:
        """Explain a bet of the last round, or of another, line by line with the clauses."""
        number = self.state.rounds if round_number is None else round_number
        return explain(self.game, self.history, BetRef(number, player, box))

    def describe(self) -> list[str]:
        """Describe all events at the table, one line for each."""
        return describe_events(self.game, self.history)

    def __repr__(self) -> str:
        unit = self.game.facts.procedure.unit
        return f"<Table {self.game.id}, {unit} {self.state.rounds}, stacks {self.stacks}>"

    def _repr_html_(self) -> str:
        """Show the felt with the chips on it, and the players, in a notebook."""
        number = self.state.rounds
        title = f"{self.game.title}, {self.game.facts.procedure.unit} {number}"
        bets = self.bets
        rows = [
            (
                player,
                f"{stack:,}",
                ", ".join(f"{box} {amount:,}" for box, amount in bets.get(player, {}).items()),
            )
            for player, stack in self.stacks.items()
        ]
        players = html_table(title, rows, ("player", "stack", "on the layout"))
        if not self.game.felt:
            return players
        totals = self.state.round.totals if self.state.round else {}
        chips = {self._area(spot): total for spot, total in totals.items()}
        return felt_picture(self.game, self.game.felt, {}, chips) + players

    def _area(self, spot: Spot) -> str:
        """Return the area of a spot; of a box with several areas and one limit, the first."""
        ends = self.game.ends.get(spot, ("",))
        return f"{spot}@{ends[0]}" if ends[0] else spot
