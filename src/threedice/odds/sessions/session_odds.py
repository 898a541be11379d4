"""Odds of a session: ruin and its round, the final bankroll, and the bankroll's quantiles by round.

`session_odds` computes the whole session. `SessionCalculation` advances round by round and gives
the odds at any of them, so that a long calculation can show its progress and be stopped.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from threedice.notebook import html_bars, html_table
from threedice.odds.sessions.markov_chain import (
    MAX_STATES,
    ExactPropagator,
    FloatPropagator,
    Weight,
    enumerate_states,
)
from threedice.odds.sessions.session import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from threedice.odds.sessions.markov_chain import StateSpace
    from threedice.odds.sessions.session import BettingSession, SessionEnding

ExactOrFloat = Fraction | float
"""A probability or a mean: an exact fraction, or a float with an error bound."""

Sortable = TypeVar("Sortable", bound=int | tuple[int, ...])
"""An amount, or a histogram bin with its lowest amount first."""

SessionMethod = Literal["exact", "float64", "simulated"]
KnownFigure = Literal["final", "rounds", "ahead", "level"]

FAN_QUANTILES: Final = tuple(Fraction(each, 100) for each in (1, 5, 25, 50, 75, 95, 99))
"""Quantiles of the bankroll in a fan chart."""
MAX_EXACT_WORK: Final = 60_000_000_000
"""Maximum work of exact counts by default: about half a minute on one core.

The unit is transitions x rounds x (200 + rounds); the last factor is for the growing integers.
"""
_FAN_POINTS: Final = 200


@dataclass(frozen=True)
class SessionOdds:
    """Result of a session after `rounds` rounds.

    `error` bounds the relative error of every probability. `ending_probabilities[ending][t]` is the
    probability of that ending in round t; "played out" counts the sessions still playing after the
    last round. `final_bankrolls` are (bankroll, probability) pairs in ascending order. `fan` holds,
    for some rounds, the bankroll at each of `FAN_QUANTILES`.

    Simulated sessions also have their number (`simulated_sessions`), figures that were computed
    from the sums of all sessions instead of from histograms (`known_figures`), 95 % confidence
    intervals of some figures, and for a final bankroll that stands for a range of them the top of
    the range (`upper_bounds`).
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
        """Return the probability that the session ends in this way."""
        return sum_probabilities(self.ending_probabilities[ending])

    @property
    def ruin(self) -> ExactOrFloat:
        """Risk of ruin."""
        return self.chance("ruined")

    @property
    def mean_final(self) -> ExactOrFloat:
        """Expected final bankroll."""
        terms = (bankroll * probability for bankroll, probability in self.final_bankrolls)
        return self._known_or_sum("final", terms)

    @property
    def mean_rounds(self) -> ExactOrFloat:
        """Expected number of rounds played."""
        terms = (
            t * probability
            for ending in ENDINGS
            for t, probability in enumerate(self.ending_probabilities[ending])
        )
        return self._known_or_sum("rounds", terms)

    @property
    def mean_rounds_to_ruin(self) -> ExactOrFloat | None:
        """Expected number of rounds given ruin, None if ruin is impossible."""
        ruin = self.ruin
        first_moment = sum_probabilities(
            t * probability for t, probability in enumerate(self.ending_probabilities["ruined"])
        )
        return first_moment / ruin if ruin else None

    @property
    def ahead(self) -> ExactOrFloat:
        """Probability of a final bankroll above the initial one."""
        initial = self.session.bankroll
        terms = (chance for bankroll, chance in self.final_bankrolls if bankroll > initial)
        return self._known_or_sum("ahead", terms)

    @property
    def level(self) -> ExactOrFloat:
        """Probability of a final bankroll equal to the initial one."""
        initial = self.session.bankroll
        terms = (chance for bankroll, chance in self.final_bankrolls if bankroll == initial)
        return self._known_or_sum("level", terms)

    def _known_or_sum(self, name: KnownFigure, terms: Iterable[ExactOrFloat]) -> ExactOrFloat:
        known = self.known_figures.get(name)
        return sum_probabilities(terms) if known is None else known

    def ruin_by_round(self) -> list[ExactOrFloat]:
        """Return the cumulative probability of ruin by each round, from round 0."""
        return list(accumulate(self.ending_probabilities["ruined"]))

    def quantile(self, probability: Fraction) -> int:
        """Return the least final bankroll with a cumulative probability of at least this.

        If it has an entry in `upper_bounds`, the quantile lies between the two.
        """
        return quantiles(dict(self.final_bankrolls), (probability,))[0]

    def format_quantile(self, probability: Fraction) -> str:
        """Format a quantile as an amount, or as the range it lies in."""
        low = self.quantile(probability)
        return f"{low:,} to {self.upper_bounds[low]:,}" if low in self.upper_bounds else f"{low:,}"

    def _repr_html_(self) -> str:
        plan, initial = self.session.plan, self.session.bankroll
        rows = [
            ("risk of ruin", f"{float(self.ruin):.12g}"),
            ("mean final bankroll", f"{float(self.mean_final):,.6f}"),
            ("leaves with more", f"{float(self.ahead):.12g}"),
            ("rounds played", f"{float(self.mean_rounds):,.4f}"),
        ]
        title = f"{plan.name} on {self.session.spread}, {self.rounds:,} rounds, {self.method}"
        nets = [
            (float(bankroll - initial), float(probability))
            for bankroll, probability in self.final_bankrolls
        ]
        return html_table(title, rows) + html_bars(nets)


def session_odds(
    session: BettingSession, method: Literal["exact", "float64"] | None = None
) -> SessionOdds:
    """Compute the odds of a session.

    >>> from threedice.odds.sessions.plans import StakingPlan
    >>> from threedice.odds.sessions.session import BettingSession
    >>> from threedice.odds.stakes import spread
    >>> from threedice.rulebook import load
    >>> big = spread(load("sg-rws-tai-sai-v6/a"), {"big": 1})
    >>> odds = session_odds(BettingSession(big, StakingPlan("martingale", 10, 500), 1000, 200))
    >>> f"{float(odds.ruin):.15f} {float(odds.mean_final):.7f}"
    '0.469143625154827 855.0484019'
    """
    calculation = start_calculation(session, method)
    for _ in range(session.rounds):
        calculation.advance()
    return calculation.odds()


def start_calculation(
    session: BettingSession,
    method: Literal["exact", "float64"] | None = None,
    max_states: int = MAX_STATES,
) -> SessionCalculation:
    """Enumerate the states of a session and return a calculation at round 0.

    By default it is exact if that takes at most about half a minute. A session with too many states
    raises `InfeasibleComputation`; simulate it instead.
    """
    states = enumerate_states(session, max_states)
    if method is None:
        method = "exact" if estimate_exact_work(session, states) <= MAX_EXACT_WORK else "float64"
    return SessionCalculation(session, states, method)


def estimate_exact_work(session: BettingSession, states: StateSpace) -> int:
    """Return the work of exact counts, in the unit of `MAX_EXACT_WORK`."""
    return states.transition_count * session.rounds * (200 + session.rounds)


class SessionCalculation:
    """A session being computed: `advance` plays a round, `odds` returns the result so far."""

    def __init__(
        self, session: BettingSession, states: StateSpace, method: Literal["exact", "float64"]
    ) -> None:
        self.session, self.states, self.method = session, states, method
        self.rounds = 0
        propagator = ExactPropagator if method == "exact" else FloatPropagator
        self._propagator = propagator(session, states)
        self._ended_weights: list[dict[int, Weight]] = [{}]
        self._departed_weights: defaultdict[int, Weight] = defaultdict(int)
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
        """Record the quantiles of the bankroll in this round, including ended sessions."""
        self._fan.append((self.rounds, quantiles(self._bankroll_weights(), FAN_QUANTILES)))

    def _bankroll_weights(self) -> dict[int, Weight]:
        """Return the weight of every bankroll in this round, including ended sessions."""
        denominator, departed = self._propagator.denominator, self._departed_weights
        # A session that ended in round t stands for denominator^(rounds - t) continuations.
        factor = denominator ** (self.rounds - self._scaled_to_round)
        for bankroll in departed:
            departed[bankroll] *= factor
        for t in range(self._scaled_to_round + 1, self.rounds + 1):
            factor = denominator ** (self.rounds - t)
            for number, weight in self._ended_weights[t].items():
                departed[self.states.bankrolls[number]] += weight * factor
        self._scaled_to_round = self.rounds
        sums = departed.copy()
        for bankroll, weight in self._propagator.active_weights().items():
            sums[bankroll] += weight
        return sums

    def odds(self) -> SessionOdds:
        """Return the result as if this round were the last."""
        weights = self._bankroll_weights()
        return SessionOdds(
            self.session,
            self.rounds,
            self.method,
            self._propagator.error_bound(self.rounds),
            {ending: self._ending_probabilities(ending) for ending in ENDINGS},
            tuple(
                (bankroll, self._probability(weights[bankroll], self.rounds))
                for bankroll in sorted(weights)
            ),
            tuple(self._fan),
        )

    def _ending_probabilities(self, ending: SessionEnding) -> tuple[ExactOrFloat, ...]:
        if ending == "played out":
            active = sum(self._propagator.active_weights().values())
            return *[self._probability(0, 0)] * self.rounds, self._probability(active, self.rounds)
        endings = self.states.endings
        return tuple(
            self._probability(
                sum(weight for number, weight in ended.items() if endings[number] == ending), t
            )
            for t, ended in enumerate(self._ended_weights)
        )

    def _probability(self, weight: Weight, rounds: int) -> ExactOrFloat:
        if self.method == "exact":
            return Fraction(int(weight), self._propagator.denominator**rounds)
        return float(weight)


def sum_probabilities(probabilities: Iterable[ExactOrFloat]) -> ExactOrFloat:
    """Return a sum: of fractions exactly, of floats with one rounding."""
    terms = list(probabilities)
    if any(isinstance(term, float) for term in terms):
        return fsum(terms)
    return sum(terms, Fraction(0))


def quantiles(
    weights: Mapping[Sortable, Weight | Fraction], probabilities: Iterable[Fraction]
) -> tuple[Sortable, ...]:
    """Return the quantiles of weighted amounts at these probabilities, given in ascending order."""
    amounts = sorted(weights)
    total = sum(weights.values())
    found: list[Sortable] = []
    index, cumulative = 0, weights[amounts[0]]
    for probability in probabilities:
        target = probability * total
        while cumulative < target and index < len(amounts) - 1:
            index += 1
            cumulative += weights[amounts[index]]
        found.append(amounts[index])
    return tuple(found)
