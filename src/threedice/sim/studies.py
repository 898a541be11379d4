"""Results of simulated sessions, flat bets and tables.

What simulated bets and sessions say: estimates with their uncertainty, from whole numbers.

What a simulated table says: what becomes of each player, and of the house.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import sqrt
from typing import TYPE_CHECKING

from threedice.errors import InvalidInput
from threedice.odds.stakes import Mix
from threedice.sim.estimates import (
    FAN_QUANTILES,
    Estimate,
    SessionSums,
    estimate_mean,
    estimate_proportion,
    estimate_ratio,
    format_estimate,
    html_estimate_table,
    quantiles,
    variance,
)
from threedice.sim.kernels.generator import ROLLS_PER_BLOCK
from threedice.sim.kernels.sessions import (
    ENDING_NAMES,
    HistogramBin,
    bin_bounds,
    nonempty_bins,
    nonempty_net_bins,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from threedice.rulebook import Game
    from threedice.sim.jobs import FlatJob, SessionJob, TableJob, Tally
    from threedice.sim.table_setup import SimulatedPlayer


@dataclass(frozen=True)
class SessionStudy:
    """Sessions of one player: how they end, with what, and how they get there.

    Everything is in the unit the table counts in. `sessions` is how many were played, all of the
    job's unless it was stopped.
    """

    job: SessionJob
    tally: Tally

    @property
    def sessions(self) -> int:
        """How many sessions were played."""
        return self.tally.units

    @property
    def title(self) -> str:
        """The plan and what it stakes on; of a plan of one's own, without its folder."""
        plan = self.job.terms.plan.replace("\\", "/").rpartition("/")[2]
        return f"{plan} on {self.job.on}" if self.job.on else plan

    @cached_property
    def sums(self) -> SessionSums:
        """The exact sums over all sessions, in grains."""
        return SessionSums(self.tally.counts["sums"].tolist())

    def chance(self, end: str) -> Estimate:
        """Return how likely a session is to end so: ruined, stop-loss, stop-win or played-out."""
        return estimate_proportion(
            int(self.tally.counts["ends"][ENDING_NAMES.index(end)].sum()), self.sessions
        )

    @property
    def ruin(self) -> Estimate:
        """The risk of ruin."""
        return self.chance("ruined")

    @property
    def mean_final(self) -> Estimate:
        """The expected final bankroll."""
        sums = self.sums
        return estimate_mean(
            sums.total("bank"), sums.total("bank_squared"), self.sessions, self.job.terms.grain
        )

    @property
    def sd_final(self) -> float:
        """The standard deviation of the final bankroll."""
        spread = variance(self.sums.total("bank"), self.sums.total("bank_squared"), self.sessions)
        return sqrt(spread) * self.job.terms.grain

    @property
    def edge(self) -> Estimate:
        """The house's share of all that was staked; no plan can change what it tends to."""
        sums, start = self.sums, self.job.terms.bankroll // self.job.terms.grain
        lost = start * self.sessions - sums.total("bank")
        squares = (
            start**2 * self.sessions - 2 * start * sums.total("bank") + sums.total("bank_squared")
        )
        products = start * sums.total("staked") - sums.total("both")
        return estimate_ratio(
            lost,
            squares,
            sums.total("staked"),
            sums.total("staked_squared"),
            products,
            self.sessions,
        )

    @property
    def mean_staked(self) -> Estimate:
        """How much is staked in a session."""
        sums = self.sums
        return estimate_mean(
            sums.total("staked"), sums.total("staked_squared"), self.sessions, self.job.terms.grain
        )

    @property
    def mean_rounds(self) -> float:
        """How many rounds are played, on average."""
        return self.sums.total("played") / max(self.sessions, 1)

    @cached_property
    def final_bankrolls(self) -> tuple[HistogramBin, ...]:
        """The final bankrolls with how often they came, least first.

        Below `exact_below` they are known exactly, from there on to one part in `fineness`.
        """
        terms = self.job.terms
        return nonempty_bins(
            self.tally.counts["finals"], terms.histograms.final_precision_bits, terms.grain
        )

    @property
    def exact_below(self) -> int:
        """The amount below which every final bankroll is counted by itself."""
        return self.job.terms.grain * 2 * self.bins_per_doubling

    @property
    def bins_per_doubling(self) -> int:
        """To one part in so many are greater final bankrolls counted."""
        return 1 << self.job.terms.histograms.final_precision_bits

    @property
    def ahead(self) -> Estimate:
        """How likely it is to leave with more than was brought."""
        return estimate_proportion(self.sums.total("ahead"), self.sessions)

    @property
    def level(self) -> Estimate:
        """How likely it is to leave with what was brought."""
        return estimate_proportion(self.sums.total("level"), self.sessions)

    def quantile(self, probability: Fraction) -> HistogramBin:
        """Return among which final bankrolls lies the one not exceeded with this probability."""
        return quantiles(self.final_bankrolls, (probability,))[0]

    @cached_property
    def ruin_by_round(self) -> tuple[tuple[int, float], ...]:
        """The share of sessions ruined by each round, from the start."""
        ruined = self.tally.counts["ends"][0].tolist()
        terms, whole = self.job.terms, max(self.sessions, 1)
        ends = (
            bin_bounds(place, terms.histograms.round_precision_bits)[1]
            for place in range(len(ruined))
        )
        rounds = (min(each, terms.rounds) for each in ends)
        return tuple((at, n / whole) for at, n in zip(rounds, accumulate(ruined), strict=True))

    @cached_property
    def fan(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The bankroll at each quantile of `BANDS`, for some rounds; who left stays as he left.

        Of bankrolls that are counted together it is the least.
        """
        terms = self.job.terms
        start = (0, (terms.bankroll,) * len(FAN_QUANTILES))
        if not terms.histograms.points:
            return (start,)
        fine, every = (
            terms.histograms.path_precision_bits,
            terms.histograms.blocks_per_point * ROLLS_PER_BLOCK,
        )
        rows = self.tally.counts["paths"]
        return start, *(
            (min((i + 1) * every, terms.rounds), _fan_point(nonempty_bins(row, fine, terms.grain)))
            for i, row in enumerate(rows)
            if row.any()
        )

    def _repr_html_(self) -> str:
        terms = self.job.terms
        return html_estimate_table(
            f"{self.title}, {self.sessions:,} sessions of {terms.rounds} rounds",
            [
                ("risk of ruin", format_estimate(self.ruin, 6)),
                ("mean final bankroll", format_estimate(self.mean_final, 3)),
                ("house edge on all stakes", format_estimate(self.edge, 6)),
                ("rounds played", f"{self.mean_rounds:.2f}"),
            ],
        )


def _fan_point(amounts: tuple[HistogramBin, ...]) -> tuple[int, ...]:
    return tuple(each.low for each in quantiles(amounts, FAN_QUANTILES))


@dataclass(frozen=True)
class FlatStudy:
    """The same bets in every round: what they cost, and how fair the dice were."""

    game: Game
    bets: Mapping[str, int]
    job: FlatJob
    tally: Tally

    @cached_property
    def roll_counts(self) -> tuple[int, ...]:
        """How often each of the 216 rolls fell."""
        return tuple(int(each) for each in self.tally.counts["rolls"].tolist())

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return sum(self.roll_counts)

    @cached_property
    def mix(self) -> Mix:
        """The bets together."""
        return Mix(self.game, self.bets)

    @property
    def edge(self) -> Estimate:
        """The house's share of all that was staked."""
        return self._edge(self.mix)

    def box_edge(self, box: str) -> Estimate:
        """Return the house's share of what was staked on one box."""
        return self._edge(Mix(self.game, {box: 1}))

    def _edge(self, mix: Mix) -> Estimate:
        pairs = list(zip(mix.nets, self.roll_counts, strict=True))
        total = -sum(net * times for net, times in pairs)
        squares = sum(net * net * times for net, times in pairs)
        unit = Fraction(1, self.game.unit * mix.total)
        return estimate_mean(total, squares, self.rounds, unit)

    @property
    def net_result(self) -> Fraction:
        """What the player has won in all, or lost."""
        pairs = zip(self.mix.nets, self.roll_counts, strict=True)
        return Fraction(sum(net * times for net, times in pairs), self.game.unit)

    @property
    def chi_square(self) -> float:
        """How far the rolls are from equally often; 215 on average, 272 once in 200 times."""
        fair = Fraction(self.rounds, 216)
        return float(sum((each - fair) ** 2 for each in self.roll_counts) / fair) if fair else 0.0

    def _repr_html_(self) -> str:
        rows = [(box, format_estimate(self.box_edge(box), 6)) for box in self.bets]
        rows.append(("all bets", format_estimate(self.edge, 6)))
        return html_estimate_table(f"{self.game.id}, {self.rounds:,} rounds: house edge", rows)


@dataclass(frozen=True)
class TableStudy:
    """Sessions of a whole table: what becomes of each player, and of the house."""

    game: Game
    players: tuple[SimulatedPlayer, ...]
    job: TableJob
    tally: Tally

    @property
    def sessions(self) -> int:
        """How many sessions were played."""
        return self.tally.units

    def sums(self, name: str) -> SessionSums:
        """Return the sums of a player, or of the house where no name is given."""
        return SessionSums(self.tally.counts["sums"][self._row(name)].tolist())

    def _row(self, name: str) -> int:
        names = [*(seat.name for seat in self.players), ""]
        if name not in names:
            raise InvalidInput(f"nobody called {name!r} sits there; {', '.join(names[:-1])} do")
        return names.index(name)

    def mean_net(self, name: str) -> Estimate:
        """Return what a player wins in a session, the house where no name is given."""
        sums = self.sums(name)
        return estimate_mean(sums.total("bank"), sums.total("bank_squared"), self.sessions)

    def chance(self, name: str, end: str) -> Estimate:
        """Return how likely a player is to end so: ruined, stop-loss or stop-win."""
        return estimate_proportion(self.sums(name).total(end.replace("-", "_")), self.sessions)

    def mean_staked(self, name: str = "") -> Estimate:
        """Return what a player stakes in a session; all of them where no name is given."""
        sums = self.sums(name)
        return estimate_mean(sums.total("staked"), sums.total("staked_squared"), self.sessions)

    @property
    def house_win(self) -> Estimate:
        """What the house wins in a session."""
        return self.mean_net("")

    @property
    def house_loss_probability(self) -> Estimate:
        """How likely the house is to lose over a session."""
        sums = self.sums("")
        return estimate_proportion(
            self.sessions - sums.total("ahead") - sums.total("level"), self.sessions
        )

    @property
    def hold(self) -> Estimate:
        """The house's share of all that was staked."""
        sums = self.sums("")
        return estimate_ratio(
            sums.total("bank"), sums.total("bank_squared"), sums.total("staked"),
            sums.total("staked_squared"), sums.total("both"), self.sessions,
        )  # fmt: skip

    def results(self, name: str) -> tuple[HistogramBin, ...]:
        """Return what a player won or lost in a session, the house where no name is given."""
        return nonempty_net_bins(self.tally.counts["nets"][self._row(name)], self.job.fine)

    def quantiles(
        self, name: str, probabilities: Iterable[Fraction] = FAN_QUANTILES
    ) -> tuple[HistogramBin, ...]:
        """Return where the results lie that are not exceeded with these probabilities."""
        return quantiles(self.results(name), probabilities)

    def _repr_html_(self) -> str:
        rows = [(seat.name, format_estimate(self.mean_net(seat.name), 3)) for seat in self.players]
        rows.append(("the house", format_estimate(self.house_win, 3)))
        title = f"{self.game.id}, {self.sessions:,} sessions of {self.job.rounds} rounds: result"
        return html_estimate_table(title, rows)
