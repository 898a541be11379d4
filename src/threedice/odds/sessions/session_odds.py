"""What becomes of a session: ruin and when, the final bankroll, and the fan of paths on the way.

`SessionCalculation` walks through the rounds and can be asked at any of them, so that a long one can be
shown as it goes, and stopped. `session_odds` goes to the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING, Final, Literal

from threedice.odds.notebook import html_bars, html_table
from threedice.odds.sessions.markov_chain import (
    MAX_STATES,
    ExactPropagator,
    FloatPropagator,
    Propagator,
    Weight,
    enumerate_states,
)
from threedice.odds.sessions.session import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from threedice.odds.sessions.markov_chain import StateSpace
    from threedice.odds.sessions.session import BettingSession, SessionEnding

ExactOrFloat = Fraction | float
"""A probability or a mean: a fraction where it is exact, a float where it is bounded."""

SessionMethod = Literal["exact", "float64", "simulated"]
KnownFigure = Literal["final", "rounds", "ahead", "level"]

FAN_QUANTILES: Final = tuple(Fraction(each, 100) for each in (1, 5, 25, 50, 75, 95, 99))
"""The quantiles of the bankroll that a fan shows."""
MAX_EXACT_WORK: Final = 60_000_000_000
"""The most work for exact counts unless they are asked for: about half a minute on one core.

Measured as arrows x rounds x (200 + rounds), the last factor for the growing numbers.
"""
_FAN_POINTS: Final = 200


@dataclass(frozen=True)
class SessionOdds:
    """The result of a session after `rounds` rounds, all probabilities within `error`, relatively.

    `ended[kind][t]` is the probability of an ending in round t; "played out" are those still
    playing at the end. `final` is the bankroll with its probability, least first; `fan` holds for
    some rounds the bankroll at each quantile of `FAN_QUANTILES`. Where sessions were simulated instead,
    `sessions` says how many, `known` what they came to exactly, `tops` for a final bankroll that
    stands for several the greatest of them, and `intervals` what is 95 % sure of some figures.
    """

    session: BettingSession
    rounds: int
    method: SessionMethod
    error: float
    ending_probabilities: Mapping[SessionEnding, tuple[ExactOrFloat, ...]]
    final_bankrolls: tuple[tuple[int, ExactOrFloat], ...]
    fan: tuple[tuple[int, tuple[int, ...]], ...]
    simulated_sessions: int = 0
    confidence_intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    known_figures: Mapping[KnownFigure, float] = field(default_factory=dict)
    upper_bounds: Mapping[int, int] = field(default_factory=dict)

    def chance(self, ending: SessionEnding) -> ExactOrFloat:
        """Return the probability that the session ends like this."""
        return sum_probabilities(self.ending_probabilities[ending])

    @property
    def ruin(self) -> ExactOrFloat:
        """The risk of ruin."""
        return self.chance("ruined")

    @property
    def mean_final(self) -> ExactOrFloat:
        """The expected final bankroll."""
        if "final" in self.known_figures:
            return self.known_figures["final"]
        return sum_probabilities(left * share for left, share in self.final_bankrolls)

    @property
    def mean_rounds(self) -> ExactOrFloat:
        """How many rounds are played, on average."""
        if "rounds" in self.known_figures:
            return self.known_figures["rounds"]
        return sum_probabilities(
            t * share for each in ENDINGS for t, share in enumerate(self.ending_probabilities[each])
        )

    @property
    def mean_rounds_to_ruin(self) -> ExactOrFloat | None:
        """How many rounds those who are ruined last, on average."""
        ruin = self.ruin
        when = sum_probabilities(
            t * share for t, share in enumerate(self.ending_probabilities["ruined"])
        )
        return when / ruin if ruin else None

    @property
    def ahead(self) -> ExactOrFloat:
        """The probability of leaving with more than was brought."""
        if "ahead" in self.known_figures:
            return self.known_figures["ahead"]
        return sum_probabilities(
            share for left, share in self.final_bankrolls if left > self.session.bankroll
        )

    @property
    def level(self) -> ExactOrFloat:
        """The probability of leaving with what was brought."""
        if "level" in self.known_figures:
            return self.known_figures["level"]
        return sum_probabilities(
            share for left, share in self.final_bankrolls if left == self.session.bankroll
        )

    def ruin_by_round(self) -> list[ExactOrFloat]:
        """Return the probability of having been ruined by each round, from none at the start."""
        return list(accumulate(self.ending_probabilities["ruined"]))

    def quantile(self, probability: Fraction) -> int:
        """Return the least final bankroll not exceeded with at least this probability.

        Where `tops` has it, it lies somewhere from there to the top.
        """
        return quantiles(dict(self.final_bankrolls), (probability,))[0]

    def format_quantile(self, probability: Fraction) -> str:
        """Return a quantile as it is told: an amount, or between which two it lies."""
        low = self.quantile(probability)
        return f"{low:,} to {self.upper_bounds[low]:,}" if low in self.upper_bounds else f"{low:,}"

    def _repr_html_(self) -> str:
        plan, brought = self.session.plan, self.session.bankroll
        rows = [
            ("risk of ruin", f"{float(self.ruin):.12g}"),
            ("mean final bankroll", f"{float(self.mean_final):,.6f}"),
            ("leaves with more", f"{float(self.ahead):.12g}"),
            ("rounds played", f"{float(self.mean_rounds):,.4f}"),
        ]
        title = f"{plan.name} on {self.session.spread}, {self.rounds:,} rounds, {self.method}"
        nets = [(float(left - brought), float(share)) for left, share in self.final_bankrolls]
        return html_table(title, rows) + html_bars(nets)


def sum_probabilities(probabilities: Iterable[ExactOrFloat]) -> ExactOrFloat:
    """Return a sum: of fractions exactly, of floats with one rounding."""
    each = list(probabilities)
    return fsum(each) if any(isinstance(one, float) for one in each) else sum(each, Fraction(0))


def quantiles(
    weights: Mapping[int, Weight | Fraction], probabilities: Iterable[Fraction]
) -> tuple[int, ...]:
    """Return the amounts not exceeded with at least these probabilities, which must rise."""
    ordered = sorted(weights)
    whole = sum(weights.values())
    found: list[int] = []
    place, so_far = 0, weights[ordered[0]]
    for share in probabilities:
        enough = share * whole
        while so_far < enough and place < len(ordered) - 1:
            place += 1
            so_far += weights[ordered[place]]
        found.append(ordered[place])
    return tuple(found)


class SessionCalculation:
    """A session under way: `advance` plays a round, `odds` tells how things stand."""

    def __init__(
        self, session: BettingSession, states: StateSpace, method: Literal["exact", "float64"]
    ) -> None:
        self.session, self.states, self.method = session, states, method
        self.rounds = 0
        self._propagator: Propagator = (ExactPropagator if method == "exact" else FloatPropagator)(
            session, states
        )
        self._ended_weights: list[dict[int, Weight]] = [{}]
        self._departed_weights: dict[int, Weight] = {}
        self._scaled_to_round = 0
        self._fan: list[tuple[int, tuple[int, ...]]] = []
        self._fan_interval = -(-session.rounds // _FAN_POINTS)
        self._record_fan_point()

    def advance(self) -> None:
        """Play one more round."""
        self.rounds += 1
        self._ended_weights.append(self._propagator.advance())
        if self.rounds % self._fan_interval == 0 or self.rounds == self.session.rounds:
            self._record_fan_point()

    def _record_fan_point(self) -> None:
        """Note the quantiles of the bankroll at this round, of those who left as well."""
        self._fan.append((self.rounds, quantiles(self._bankrolls(), FAN_QUANTILES)))

    def _bankrolls(self) -> dict[int, Weight]:
        """Return the weight of every bankroll now, counting those who have left."""
        base, left = self._propagator.denominator, self.states.bankrolls
        grown = base ** (self.rounds - self._scaled_to_round)
        self._departed_weights = {
            each: weight * grown for each, weight in self._departed_weights.items()
        }
        for when in range(self._scaled_to_round + 1, self.rounds + 1):
            grown = base ** (self.rounds - when)
            for place, weight in self._ended_weights[when].items():
                self._departed_weights[left[place]] = (
                    self._departed_weights.get(left[place], 0) + weight * grown
                )
        self._scaled_to_round = self.rounds
        sums = dict(self._departed_weights)
        for each, weight in self._propagator.active_weights().items():
            sums[each] = sums.get(each, 0) + weight
        return sums

    def odds(self) -> SessionOdds:
        """Return the result as if this round were the last."""
        final = self._bankrolls()
        return SessionOdds(
            self.session,
            self.rounds,
            self.method,
            self._propagator.error_bound(self.rounds),
            {each: self._ending_probabilities(each) for each in ENDINGS},
            tuple((left, self._probability(final[left], self.rounds)) for left in sorted(final)),
            tuple(self._fan),
        )

    def _ending_probabilities(self, kind: SessionEnding) -> tuple[ExactOrFloat, ...]:
        if kind == "played out":
            still = sum(self._propagator.active_weights().values())
            return *[self._probability(0, 0)] * self.rounds, self._probability(still, self.rounds)
        ending = self.states.endings
        return tuple(
            self._probability(sum(n for place, n in ended.items() if ending[place] == kind), when)
            for when, ended in enumerate(self._ended_weights)
        )

    def _probability(self, weight: Weight, rounds: int) -> ExactOrFloat:
        if self.method == "exact":
            return Fraction(int(weight), self._propagator.denominator**rounds)
        return float(weight)


def start_calculation(
    session: BettingSession,
    method: Literal["exact", "float64"] | None = None,
    max_states: int = MAX_STATES,
) -> SessionCalculation:
    """Lay a session out and make ready to count it, exactly where that is about half a minute.

    A session with more states than can be laid out is `Infeasible`; simulate it.
    """
    states = enumerate_states(session, max_states)
    if method is None:
        method = "exact" if estimate_exact_work(session, states) <= MAX_EXACT_WORK else "float64"
    return SessionCalculation(session, states, method)


def estimate_exact_work(session: BettingSession, states: StateSpace) -> int:
    """Return how much work exact counts are, in the unit of `MAX_EXACT_WORK`."""
    return states.transition_count * session.rounds * (200 + session.rounds)


def session_odds(
    session: BettingSession, method: Literal["exact", "float64"] | None = None
) -> SessionOdds:
    """Return what becomes of a session.

    >>> from threedice.odds.sessions.plans import StakingPlan
    >>> from threedice.odds.sessions.session import BettingSession
    >>> from threedice.odds.stakes import spread
    >>> from threedice.rulebook import load
    >>> big = spread(load("sg-rws-tai-sai-v6/a"), {"big": 1})
    >>> odds = session_odds(BettingSession(big, StakingPlan("martingale", 10, 500), 1000, 200))
    >>> f"{float(odds.ruin):.15f} {float(odds.mean_final):.7f}"
    '0.469143625154827 855.0484019'
    """
    reckoning = start_calculation(session, method)
    for _ in range(session.rounds):
        reckoning.advance()
    return reckoning.odds()
