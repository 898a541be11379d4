"""What a simulated table says: what becomes of each player, and of the house."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput
from threedice.sim.estimates import Estimate, mean_of, ratio_of, share_of
from threedice.sim.places import Counted, nets_counted
from threedice.sim.telling import BANDS, Sums, html_table, quantiles, told

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from threedice.rulebook import Game
    from threedice.sim.jobs import TableJob
    from threedice.sim.seating import Seat
    from threedice.sim.tallies import Tally


@dataclass(frozen=True)
class TableStudy:
    """Sessions of a whole table: what becomes of each player, and of the house."""

    game: Game
    seats: tuple[Seat, ...]
    job: TableJob
    tally: Tally

    @property
    def sessions(self) -> int:
        """How many sessions were played."""
        return self.tally.units

    def sums(self, name: str) -> Sums:
        """Return the sums of a player, or of the house where no name is given."""
        return Sums(self.tally.counts["sums"][self._row(name)].tolist())

    def _row(self, name: str) -> int:
        names = [*(seat.name for seat in self.seats), ""]
        if name not in names:
            raise InvalidInput(f"nobody called {name!r} sits there; {', '.join(names[:-1])} do")
        return names.index(name)

    def mean_net(self, name: str) -> Estimate:
        """Return what a player wins in a session, the house where no name is given."""
        sums = self.sums(name)
        return mean_of(sums.of("bank"), sums.of("bank_squared"), self.sessions)

    def chance(self, name: str, end: str) -> Estimate:
        """Return how likely a player is to end so: ruined, stop-loss or stop-win."""
        return share_of(self.sums(name).of(end.replace("-", "_")), self.sessions)

    def mean_staked(self, name: str = "") -> Estimate:
        """Return what a player stakes in a session; all of them where no name is given."""
        sums = self.sums(name)
        return mean_of(sums.of("staked"), sums.of("staked_squared"), self.sessions)

    @property
    def house(self) -> Estimate:
        """What the house wins in a session."""
        return self.mean_net("")

    @property
    def house_loses(self) -> Estimate:
        """How likely the house is to lose over a session."""
        sums = self.sums("")
        return share_of(self.sessions - sums.of("ahead") - sums.of("level"), self.sessions)

    @property
    def hold(self) -> Estimate:
        """The house's share of all that was staked."""
        sums = self.sums("")
        return ratio_of(
            sums.of("bank"), sums.of("bank_squared"), sums.of("staked"),
            sums.of("staked_squared"), sums.of("both"), self.sessions,
        )  # fmt: skip

    def results(self, name: str) -> tuple[Counted, ...]:
        """Return what a player won or lost in a session, the house where no name is given."""
        return nets_counted(self.tally.counts["nets"][self._row(name)], self.job.fine)

    def quantiles(self, name: str, shares: Iterable[Fraction] = BANDS) -> tuple[Counted, ...]:
        """Return where the results lie that are not exceeded with these probabilities."""
        return quantiles(self.results(name), shares)

    def _repr_html_(self) -> str:
        rows = [(seat.name, told(self.mean_net(seat.name), 3)) for seat in self.seats]
        rows.append(("the house", told(self.house, 3)))
        title = f"{self.game.id}, {self.sessions:,} sessions of {self.job.rounds} rounds: result"
        return html_table(title, rows)
