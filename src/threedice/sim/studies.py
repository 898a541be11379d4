"""What simulated bets and sessions say: estimates with their uncertainty, from whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import sqrt
from typing import TYPE_CHECKING

from threedice.maths.mix import Mix
from threedice.sim.estimates import Estimate, mean_of, ratio_of, share_of, variance
from threedice.sim.generator import ROLLS_A_BLOCK
from threedice.sim.kernel import ENDS
from threedice.sim.places import Counted, counted, span_of
from threedice.sim.telling import BANDS, Sums, html_table, quantiles, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from threedice.rulebook import Game
    from threedice.sim.jobs import FlatJob, SessionJob
    from threedice.sim.tallies import Tally


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
    def sums(self) -> Sums:
        """The exact sums over all sessions, in grains."""
        return Sums(self.tally.counts["sums"].tolist())

    def chance(self, end: str) -> Estimate:
        """Return how likely a session is to end so: ruined, stop-loss, stop-win or played-out."""
        return share_of(int(self.tally.counts["ends"][ENDS.index(end)].sum()), self.sessions)

    @property
    def ruin(self) -> Estimate:
        """The risk of ruin."""
        return self.chance("ruined")

    @property
    def mean_final(self) -> Estimate:
        """The expected final bankroll."""
        sums = self.sums
        return mean_of(
            sums.of("bank"), sums.of("bank_squared"), self.sessions, self.job.terms.grain
        )

    @property
    def sd_final(self) -> float:
        """The standard deviation of the final bankroll."""
        spread = variance(self.sums.of("bank"), self.sums.of("bank_squared"), self.sessions)
        return sqrt(spread) * self.job.terms.grain

    @property
    def edge(self) -> Estimate:
        """The house's share of all that was staked; no plan can change what it tends to."""
        sums, start = self.sums, self.job.terms.bankroll // self.job.terms.grain
        lost = start * self.sessions - sums.of("bank")
        squares = start**2 * self.sessions - 2 * start * sums.of("bank") + sums.of("bank_squared")
        products = start * sums.of("staked") - sums.of("both")
        return ratio_of(
            lost, squares, sums.of("staked"), sums.of("staked_squared"), products, self.sessions
        )

    @property
    def mean_staked(self) -> Estimate:
        """How much is staked in a session."""
        sums = self.sums
        return mean_of(
            sums.of("staked"), sums.of("staked_squared"), self.sessions, self.job.terms.grain
        )

    @property
    def mean_rounds(self) -> float:
        """How many rounds are played, on average."""
        return self.sums.of("played") / max(self.sessions, 1)

    @cached_property
    def final(self) -> tuple[Counted, ...]:
        """The final bankrolls with how often they came, least first.

        Below `exact_below` they are known exactly, from there on to one part in `fineness`.
        """
        terms = self.job.terms
        return counted(self.tally.counts["finals"], terms.counting.final_fine, terms.grain)

    @property
    def exact_below(self) -> int:
        """The amount below which every final bankroll is counted by itself."""
        return self.job.terms.grain * 2 * self.fineness

    @property
    def fineness(self) -> int:
        """To one part in so many are greater final bankrolls counted."""
        return 1 << self.job.terms.counting.final_fine

    @property
    def ahead(self) -> Estimate:
        """How likely it is to leave with more than was brought."""
        return share_of(self.sums.of("ahead"), self.sessions)

    @property
    def level(self) -> Estimate:
        """How likely it is to leave with what was brought."""
        return share_of(self.sums.of("level"), self.sessions)

    def quantile(self, share: Fraction) -> Counted:
        """Return among which final bankrolls lies the one not exceeded with this probability."""
        return quantiles(self.final, (share,))[0]

    @cached_property
    def ruin_by_round(self) -> tuple[tuple[int, float], ...]:
        """The share of sessions ruined by each round, from the start."""
        ruined = self.tally.counts["ends"][0].tolist()
        terms, whole = self.job.terms, max(self.sessions, 1)
        ends = (span_of(place, terms.counting.end_fine)[1] for place in range(len(ruined)))
        rounds = (min(each, terms.rounds) for each in ends)
        return tuple((at, n / whole) for at, n in zip(rounds, accumulate(ruined), strict=True))

    @cached_property
    def fan(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The bankroll at each quantile of `BANDS`, for some rounds; who left stays as he left.

        Of bankrolls that are counted together it is the least.
        """
        terms = self.job.terms
        start = (0, (terms.bankroll,) * len(BANDS))
        if not terms.counting.points:
            return (start,)
        fine, every = terms.counting.path_fine, terms.counting.stride * ROLLS_A_BLOCK
        rows = self.tally.counts["paths"]
        return start, *(
            (min((i + 1) * every, terms.rounds), _bands(counted(row, fine, terms.grain)))
            for i, row in enumerate(rows)
            if row.any()
        )

    def _repr_html_(self) -> str:
        terms = self.job.terms
        return html_table(
            f"{self.title}, {self.sessions:,} sessions of {terms.rounds} rounds",
            [
                ("risk of ruin", told(self.ruin, 6)),
                ("mean final bankroll", told(self.mean_final, 3)),
                ("house edge on all stakes", told(self.edge, 6)),
                ("rounds played", f"{self.mean_rounds:.2f}"),
            ],
        )


def _bands(amounts: tuple[Counted, ...]) -> tuple[int, ...]:
    return tuple(each.low for each in quantiles(amounts, BANDS))


@dataclass(frozen=True)
class FlatStudy:
    """The same bets in every round: what they cost, and how fair the dice were."""

    game: Game
    bets: Mapping[str, int]
    job: FlatJob
    tally: Tally

    @cached_property
    def rolls(self) -> tuple[int, ...]:
        """How often each of the 216 rolls fell."""
        return tuple(int(each) for each in self.tally.counts["rolls"].tolist())

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return sum(self.rolls)

    @cached_property
    def mix(self) -> Mix:
        """The bets together."""
        return Mix(self.game, self.bets)

    @property
    def edge(self) -> Estimate:
        """The house's share of all that was staked."""
        return self._edge(self.mix)

    def edge_of(self, box: str) -> Estimate:
        """Return the house's share of what was staked on one box."""
        return self._edge(Mix(self.game, {box: 1}))

    def _edge(self, mix: Mix) -> Estimate:
        pairs = list(zip(mix.nets, self.rolls, strict=True))
        total = -sum(net * times for net, times in pairs)
        squares = sum(net * net * times for net, times in pairs)
        unit = Fraction(1, self.game.unit * mix.total)
        return mean_of(total, squares, self.rounds, unit)

    @property
    def won(self) -> Fraction:
        """What the player has won in all, or lost."""
        pairs = zip(self.mix.nets, self.rolls, strict=True)
        return Fraction(sum(net * times for net, times in pairs), self.game.unit)

    @property
    def chi_square(self) -> float:
        """How far the rolls are from equally often; 215 on average, 272 once in 200 times."""
        fair = Fraction(self.rounds, 216)
        return float(sum((each - fair) ** 2 for each in self.rolls) / fair) if fair else 0.0

    def _repr_html_(self) -> str:
        rows = [(box, told(self.edge_of(box), 6)) for box in self.bets]
        rows.append(("all bets", told(self.edge, 6)))
        return html_table(f"{self.game.id}, {self.rounds:,} rounds: house edge", rows)
