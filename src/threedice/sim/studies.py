"""Results of simulated sessions, flat bets and tables: estimates with confidence intervals.

All estimates are computed from the exact integer sums and histograms of a tally.
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
    """Sessions of one player: endings, final bankrolls, and bankrolls by round.

    Amounts are in the table's unit. `sessions` is the number of sessions played: those of the job,
    or fewer if it was stopped.
    """

    job: SessionJob
    tally: Tally

    @property
    def sessions(self) -> int:
        """Number of sessions played."""
        return self.tally.units

    @property
    def title(self) -> str:
        """Name of the plan and of the bet; a user's own plan is shown without its folder."""
        plan = self.job.terms.plan.replace("\\", "/").rpartition("/")[2]
        return f"{plan} on {self.job.on}" if self.job.on else plan

    @cached_property
    def sums(self) -> SessionSums:
        """Exact sums over all sessions, in grains."""
        return SessionSums(self.tally.counts["sums"].tolist())

    def chance(self, end: str) -> Estimate:
        """Estimate the probability of an ending: ruined, stop-loss, stop-win or played-out."""
        return estimate_proportion(
            int(self.tally.counts["ends"][ENDING_NAMES.index(end)].sum()), self.sessions
        )

    @property
    def ruin(self) -> Estimate:
        """Risk of ruin."""
        return self.chance("ruined")

    @property
    def mean_final(self) -> Estimate:
        """Expected final bankroll."""
        return self.sums.mean("bank", self.sessions, self.job.terms.grain)

    @property
    def sd_final(self) -> float:
        """Standard deviation of the final bankroll."""
        sums = self.sums
        grains_squared = variance(sums.total("bank"), sums.total("bank_squared"), self.sessions)
        return sqrt(grains_squared) * self.job.terms.grain

    @property
    def edge(self) -> Estimate:
        """House edge on the turnover; no staking plan changes its limit."""
        sums, initial = self.sums, self.job.terms.bankroll // self.job.terms.grain
        bank, staked = sums.total("bank"), sums.total("staked")
        loss = initial * self.sessions - bank
        loss_squared = initial**2 * self.sessions - 2 * initial * bank + sums.total("bank_squared")
        loss_times_staked = initial * staked - sums.total("both")
        return estimate_ratio(
            loss, loss_squared, staked, sums.total("staked_squared"), loss_times_staked
        )

    @property
    def mean_staked(self) -> Estimate:
        """Expected turnover of a session."""
        return self.sums.mean("staked", self.sessions, self.job.terms.grain)

    @property
    def mean_rounds(self) -> float:
        """Mean number of rounds played."""
        return self.sums.total("played") / max(self.sessions, 1)

    @cached_property
    def final_bankrolls(self) -> tuple[HistogramBin, ...]:
        """Histogram of the final bankrolls in ascending order, without empty bins.

        Below `exact_below` each amount has a bin; above, each doubling has `bins_per_doubling`.
        """
        terms = self.job.terms
        return nonempty_bins(
            self.tally.counts["finals"], terms.histograms.final_precision_bits, terms.grain
        )

    @property
    def exact_below(self) -> int:
        """Amount below which every final bankroll has a bin of its own."""
        return self.job.terms.grain * 2 * self.bins_per_doubling

    @property
    def bins_per_doubling(self) -> int:
        """Number of bins for each doubling of larger final bankrolls."""
        return 1 << self.job.terms.histograms.final_precision_bits

    @property
    def ahead(self) -> Estimate:
        """Probability of a final bankroll above the initial one."""
        return estimate_proportion(self.sums.total("ahead"), self.sessions)

    @property
    def level(self) -> Estimate:
        """Probability of a final bankroll equal to the initial one."""
        return estimate_proportion(self.sums.total("level"), self.sessions)

    def quantile(self, probability: Fraction) -> HistogramBin:
        """Return the bin that holds a quantile of the final bankroll."""
        return quantiles(self.final_bankrolls, (probability,))[0]

    @cached_property
    def ruin_by_round(self) -> tuple[tuple[int, float], ...]:
        """Share of sessions ruined by each round (or bin of rounds), cumulative."""
        ruined = self.tally.counts["ends"][0].tolist()
        terms, sessions = self.job.terms, max(self.sessions, 1)
        last_rounds = (
            min(bin_bounds(index, terms.histograms.round_precision_bits)[1], terms.rounds)
            for index in range(len(ruined))
        )
        return tuple(
            (last_round, cumulative / sessions)
            for last_round, cumulative in zip(last_rounds, accumulate(ruined), strict=True)
        )

    @cached_property
    def fan(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Bankroll at each of `FAN_QUANTILES` for some rounds, including ended sessions.

        Each quantile is given as the lower bound of its bin.
        """
        terms = self.job.terms
        start = (0, (terms.bankroll,) * len(FAN_QUANTILES))
        if not terms.histograms.points:
            return (start,)
        precision_bits = terms.histograms.path_precision_bits
        rounds_per_point = terms.histograms.blocks_per_point * ROLLS_PER_BLOCK
        points = [start]
        for number, row in enumerate(self.tally.counts["paths"], start=1):
            if row.any():
                bins = quantiles(nonempty_bins(row, precision_bits, terms.grain), FAN_QUANTILES)
                last_round = min(number * rounds_per_point, terms.rounds)
                points.append((last_round, tuple(each.low for each in bins)))
        return tuple(points)

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


@dataclass(frozen=True)
class FlatStudy:
    """The same bets in every round: house edge, net result, and a test of the dice."""

    game: Game
    bets: Mapping[str, int]
    job: FlatJob
    tally: Tally

    @cached_property
    def roll_counts(self) -> tuple[int, ...]:
        """Number of times that each of the 216 rolls fell."""
        return tuple(int(count) for count in self.tally.counts["rolls"].tolist())

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return sum(self.roll_counts)

    @cached_property
    def mix(self) -> Mix:
        """The bets as a mix."""
        return Mix(self.game, self.bets)

    @property
    def edge(self) -> Estimate:
        """House edge on all bets."""
        return self._edge(self.mix)

    def box_edge(self, box: str) -> Estimate:
        """Estimate the house edge of one box."""
        return self._edge(Mix(self.game, {box: 1}))

    def _edge(self, mix: Mix) -> Estimate:
        pairs = list(zip(mix.nets, self.roll_counts, strict=True))
        house_total = -sum(net * count for net, count in pairs)
        squares = sum(net * net * count for net, count in pairs)
        unit = Fraction(1, self.game.unit * mix.total)
        return estimate_mean(house_total, squares, self.rounds, unit)

    @property
    def net_result(self) -> Fraction:
        """Player's net result of all rounds."""
        pairs = zip(self.mix.nets, self.roll_counts, strict=True)
        return Fraction(sum(net * count for net, count in pairs), self.game.unit)

    @property
    def chi_square(self) -> float:
        """Chi-square statistic of the roll counts: mean 215, above 272 once in 200 times."""
        expected = Fraction(self.rounds, 216)
        if not expected:
            return 0.0
        return float(sum((count - expected) ** 2 for count in self.roll_counts) / expected)

    def _repr_html_(self) -> str:
        rows = [(box, format_estimate(self.box_edge(box), 6)) for box in self.bets]
        rows.append(("all bets", format_estimate(self.edge, 6)))
        return html_estimate_table(f"{self.game.id}, {self.rounds:,} rounds: house edge", rows)


@dataclass(frozen=True)
class TableStudy:
    """Sessions of a table: results of each player and of the house.

    Methods that take a player's name return the house's figures for an empty name.
    """

    game: Game
    players: tuple[SimulatedPlayer, ...]
    job: TableJob
    tally: Tally

    @property
    def sessions(self) -> int:
        """Number of sessions played."""
        return self.tally.units

    def sums(self, name: str) -> SessionSums:
        """Return the exact sums of a player, or of the house."""
        return SessionSums(self.tally.counts["sums"][self._row(name)].tolist())

    def _row(self, name: str) -> int:
        names = [*(player.name for player in self.players), ""]
        if name not in names:
            raise InvalidInput(
                f"there is no player {name!r} at the table; choose {', '.join(names[:-1])}"
            )
        return names.index(name)

    def mean_net(self, name: str) -> Estimate:
        """Estimate the expected net result of a player, or of the house, in a session."""
        return self.sums(name).mean("bank", self.sessions)

    def chance(self, name: str, end: str) -> Estimate:
        """Estimate the probability of a player's ending: ruined, stop-loss or stop-win."""
        return estimate_proportion(self.sums(name).total(end.replace("-", "_")), self.sessions)

    def mean_staked(self, name: str = "") -> Estimate:
        """Estimate the expected turnover of a player, or of all players, in a session."""
        return self.sums(name).mean("staked", self.sessions)

    @property
    def house_win(self) -> Estimate:
        """Expected win of the house in a session."""
        return self.mean_net("")

    @property
    def house_loss_probability(self) -> Estimate:
        """Probability that the house loses in a session."""
        sums = self.sums("")
        return estimate_proportion(
            self.sessions - sums.total("ahead") - sums.total("level"), self.sessions
        )

    @property
    def hold(self) -> Estimate:
        """House's win as a share of the turnover."""
        sums = self.sums("")
        return estimate_ratio(
            sums.total("bank"),
            sums.total("bank_squared"),
            sums.total("staked"),
            sums.total("staked_squared"),
            sums.total("both"),
        )

    def results(self, name: str) -> tuple[HistogramBin, ...]:
        """Return the histogram of the net results of a player, or of the house, in a session."""
        return nonempty_net_bins(self.tally.counts["nets"][self._row(name)], self.job.fine)

    def quantiles(
        self, name: str, probabilities: Iterable[Fraction] = FAN_QUANTILES
    ) -> tuple[HistogramBin, ...]:
        """Return the bins that hold the quantiles of the net result."""
        return quantiles(self.results(name), probabilities)

    def _repr_html_(self) -> str:
        rows = [
            (player.name, format_estimate(self.mean_net(player.name), 3)) for player in self.players
        ]
        rows.append(("the house", format_estimate(self.house_win, 3)))
        title = f"{self.game.id}, {self.sessions:,} sessions of {self.job.rounds} rounds: result"
        return html_estimate_table(title, rows)
